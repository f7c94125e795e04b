-- Lists tasks of one bucket that the clock calls for, the longest due first. Writes nothing.
-- Replies: a list of ids
--! keys due
--! args start limit

return redis.call('ZRANGEBYSCORE', due, '-inf', clock(), 'LIMIT', start, limit)

-- Lists tasks of one bucket that the clock calls for, the longest due first. Writes nothing.
-- Replies: a list of ids
--! keys due
--! args limit

return redis.call('ZRANGEBYSCORE', due, '-inf', clock(), 'LIMIT', 0, limit)

-- Does once what calls and runs do, on keys of its own, which are gone afterwards: every command of every script, and a
-- message on the feed that concerns no task. A server that takes no writes, or a user who lacks a right, shows here.
-- Sent twice: the same again.
-- Replies: PROBED
--! keys hash zset plain
--! args nobody

local at = clock()
redis.call('HSET', hash, 'a', at)
redis.call('HSETNX', hash, 'b', 1)
redis.call('HINCRBY', hash, 'b', 1)
redis.call('HMGET', hash, 'a', 'b')
redis.call('HGETALL', hash)
redis.call('HEXISTS', hash, 'a')
redis.call('HGET', hash, 'a')
redis.call('HSTRLEN', hash, 'a')
redis.call('HDEL', hash, 'a')
redis.call('ZADD', zset, at, 'a')
redis.call('ZCARD', zset)
redis.call('ZSCORE', zset, 'a')
redis.call('ZRANGE', zset, 0, 0)
redis.call('ZREVRANGE', zset, 0, 0)
redis.call('ZRANGEBYSCORE', zset, 0, at)
redis.call('ZREM', zset, 'a')
redis.call('ZREMRANGEBYSCORE', zset, 0, at)
redis.call('SET', plain, at, 'PX', SLACK)
redis.call('GET', plain)
redis.call('EXISTS', plain)
redis.call('PTTL', plain)
redis.call('PEXPIRE', plain, SLACK)
redis.call('PEXPIREAT', plain, at + SLACK)
redis.call('DEL', hash, zset, plain)
announce(nobody)
return { 'PROBED' }

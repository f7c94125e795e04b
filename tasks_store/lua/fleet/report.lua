-- Notes how many streams a web process holds. One that was not heard of within `within` is gone, and its streams with it.
-- Sent twice: the same as once.
-- Replies: REPORTED
--! keys seen streams
--! args process count within

local at = clock()
local oldest = at - tonumber(within)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', oldest)) do redis.call('HDEL', streams, gone) end
redis.call('ZREMRANGEBYSCORE', seen, '-inf', oldest)
if count == '0' then
  redis.call('ZREM', seen, process)
  redis.call('HDEL', streams, process)
else
  redis.call('ZADD', seen, at, process)
  redis.call('HSET', streams, process, count)
  redis.call('PEXPIRE', seen, SLACK)
  redis.call('PEXPIRE', streams, SLACK)
end
return { 'REPORTED' }

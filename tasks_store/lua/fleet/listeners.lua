-- Counts the streams of the web processes that were heard of within `within`. Writes nothing.
-- Replies: LISTENERS count
--! keys seen streams
--! args within

local total = 0
for _, process in ipairs(redis.call('ZRANGEBYSCORE', seen, clock() - tonumber(within), '+inf')) do
  total = total + tonumber(redis.call('HGET', streams, process) or '0')
end
return { 'LISTENERS', total }

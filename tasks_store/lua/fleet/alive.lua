-- Counts the workers that were seen within `within` and take messages. Writes nothing.
-- Replies: ALIVE count
--! keys workers
--! args within idle

local count = 0
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers, clock() - tonumber(within), '+inf')) do
  if string.sub(worker, 1, #idle) ~= idle then count = count + 1 end
end
return { 'ALIVE', count }

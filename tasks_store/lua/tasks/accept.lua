-- Notes what the author's validator said of an answer. The first verdict stands.
-- Sent twice: the first verdict stands.
-- Replies: NOTED verdict · GONE (the task ended, or the key has no answer)
--! keys task inputs
--! args input verdict why

local phase = redis.call('HGET', task, 'phase')
if not phase or phase == 'done' then return { 'GONE' } end
if redis.call('HEXISTS', inputs, 'answer:' .. input) == 0 then return { 'GONE' } end
if redis.call('HSETNX', inputs, 'verdict:' .. input, verdict) == 1 and why ~= '' then
  redis.call('HSET', inputs, 'why:' .. input, why)
end
return { 'NOTED', redis.call('HGET', inputs, 'verdict:' .. input) }

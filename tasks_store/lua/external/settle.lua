-- Ends a delegated task as its work ended. If somebody asked to cancel it first, it ends as cancelled.
-- Sent twice: ended once.
-- Replies: SETTLED status · ENDED (it is not delegated any more)
--! keys task inputs steps due watched
--! args id keep status message result error_code error_message

if redis.call('HGET', task, 'phase') ~= 'delegated' then return { 'ENDED' } end
local ending = { 'status', status, 'message', message }
if status == 'completed' then
  ending[5], ending[6] = 'result', result
elseif status == 'failed' then
  ending[5], ending[6], ending[7], ending[8] = 'error_code', error_code, 'error_message', error_message
end
redis.call('ZREM', watched, id)
return { 'SETTLED', close({ task = task, inputs = inputs, steps = steps, due = due }, id, clock(), keep, ending) }

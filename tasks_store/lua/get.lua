-- Reads a task as its owner may see it. Writes nothing.
-- Replies: NOT_FOUND · LARGE: the result has more bytes than `most` · FOUND, twelve fields, then key and request of each
-- outstanding input
--! keys task inputs
--! args owner most

if redis.call('HSTRLEN', task, 'result') > tonumber(most) and redis.call('HGET', task, 'owner') == owner then
  return { 'LARGE' }
end
local record = redis.call('HMGET', task, 'owner', 'tool', 'status', 'created', 'updated', 'ttl', 'poll', 'message',
  'result', 'error_code', 'error_message', 'error_data', 'open', 'phase', 'progress')
if record[1] ~= owner then return { 'NOT_FOUND' } end
local reply = { 'FOUND' }
for i = 2, 12 do reply[i] = record[i] or '' end
local is_worked_on = record[14] == 'running' or record[14] == 'delegated'
reply[13] = is_worked_on and record[15] or ''
for _, key in ipairs(words(record[13])) do
  reply[#reply + 1] = key
  reply[#reply + 1] = redis.call('HGET', inputs, 'request:' .. key)
end
return reply

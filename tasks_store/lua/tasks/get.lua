-- Reads a task as its owner may see it. Writes nothing.
-- Replies: NOT_FOUND · FOUND, twelve fields, then key and request of each outstanding input · LARGE, the same without the
-- result, which has more bytes than `most`
--! keys task inputs
--! args owner most

local is_large = redis.call('HSTRLEN', task, 'result') > tonumber(most)
local record = redis.call('HMGET', task, 'owner', 'tool', 'status', 'created', 'updated', 'ttl', 'poll', 'message',
  is_large and 'no result' or 'result', 'error_code', 'error_message', 'error_data', 'open', 'phase', 'progress')
if record[1] ~= owner then return { 'NOT_FOUND' } end
local reply = { 'FOUND' }
if is_large then reply = { 'LARGE' } end
for i = 2, 12 do reply[i] = record[i] or '' end
local is_worked_on = record[14] == 'running' or record[14] == 'delegated'
reply[13] = is_worked_on and record[15] or ''
for _, key in ipairs(words(record[13])) do
  reply[#reply + 1] = key
  reply[#reply + 1] = redis.call('HGET', inputs, 'request:' .. key)
end
return reply

-- Closes the inputs whose own time limit has passed; when none is outstanding any more the next run is due.
-- Sent twice: the second is early.
-- Replies: RESUME tool run_number owner · OPEN (others are still outstanding) · EARLY
--! keys task inputs due
--! args id resend message

local record = fields(task, 'phase', 'tool', 'open', 'expires', 'run_number', 'owner')
if record.phase ~= 'parked' then return { 'EARLY' } end
local at = clock()
local open, lapsed, first_limit = {}, 0, nil
for _, key in ipairs(words(record.open)) do
  local limit = tonumber(redis.call('HGET', inputs, 'limit:' .. key))
  if limit and limit <= at then
    lapsed = lapsed + 1
    redis.call('HSET', inputs, 'answer:' .. key, '', 'verdict:' .. key, 'lapsed')
  else
    open[#open + 1] = key
    if limit and (not first_limit or limit < first_limit) then first_limit = limit end
  end
end
if lapsed == 0 then return { 'EARLY' } end
redis.call('HDEL', task, 'limit')
redis.call('HSET', task, 'open', table.concat(open, ' '), 'updated', at)
if #open > 0 then
  if first_limit then redis.call('HSET', task, 'limit', first_limit) end
  schedule(due, id, record.expires, first_limit)
  announce(id)
  return { 'OPEN' }
end
local next_send = at + tonumber(resend)
redis.call('HSET', task, 'phase', 'queued', 'status', 'working', 'message', message, 'resend', next_send)
redis.call('HDEL', task, 'open', 'sends')
schedule(due, id, record.expires, next_send)
announce(id)
return { 'RESUME', record.tool, (record.run_number or 0) + 1, record.owner }

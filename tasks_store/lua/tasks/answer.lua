-- Stores the answers to outstanding inputs; the first answer to a key stands, other keys are ignored. When none is
-- outstanding any more the task is working again and its next run is due.
-- Sent twice: the second changes nothing (its keys are answered).
-- Replies: NOT_FOUND · IGNORED · OPEN keys · RESUME tool run_number owner round keys (key lists are
--          space-separated)
--! keys task inputs due
--! args id owner resend message *answers

local record = fields(task, 'owner', 'phase', 'tool', 'open', 'round', 'expires', 'run_number')
if record.owner ~= owner then return { 'NOT_FOUND' } end
if record.phase ~= 'parked' then return { 'IGNORED' } end

local given = {}
for i = 1, #answers, 2 do given[answers[i]] = answers[i + 1] end
local accepted, open, first_limit = {}, {}, nil
for _, key in ipairs(words(record.open)) do
  if given[key] then
    accepted[#accepted + 1] = key
    redis.call('HSET', inputs, 'answer:' .. key, given[key])
  else
    open[#open + 1] = key
    local limit = tonumber(redis.call('HGET', inputs, 'limit:' .. key))
    if limit and (not first_limit or limit < first_limit) then first_limit = limit end
  end
end
if #accepted == 0 then return { 'IGNORED' } end

local at = clock()
redis.call('HSET', task, 'open', table.concat(open, ' '), 'updated', at)
if #open > 0 then
  redis.call('HDEL', task, 'limit')
  if first_limit then redis.call('HSET', task, 'limit', first_limit) end
  schedule(due, id, record.expires, first_limit)
  announce(id)
  return { 'OPEN', table.concat(accepted, ' ') }
end
local next_send = at + tonumber(resend)
redis.call('HSET', task, 'phase', 'queued', 'status', 'working', 'message', message, 'resend', next_send)
redis.call('HDEL', task, 'open', 'limit', 'sends')
schedule(due, id, record.expires, next_send)
announce(id)
return { 'RESUME', record.tool, (record.run_number or 0) + 1, owner, record.round, table.concat(accepted, ' ') }

-- Ends a run whose tool needs inputs: they become outstanding, the status is input_required, the lease is dropped.
-- `asked` holds key, request, validator and time limit (ms, 0 for none) of each input.
-- Sent twice by the same run: parked once. A run that somebody asked to cancel does not park.
-- Replies: PARKED · CANCELLED (it has to end instead) · SUPERSEDED · USED key (an input key is never used twice)
--! keys task inputs due
--! args id run_id message *asked

local record = fields(task, 'phase', 'run_id', 'parked_by', 'expires', 'cancel')
if record.phase == 'parked' and record.parked_by == run_id then return { 'PARKED' } end
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
if record.cancel then return { 'CANCELLED' } end
for i = 1, #asked, 4 do
  if redis.call('HEXISTS', inputs, 'request:' .. asked[i]) == 1 then return { 'USED', asked[i] } end
end

local at = clock()
local open, first_limit = {}, nil
for i = 1, #asked, 4 do
  local key, time_limit = asked[i], tonumber(asked[i + 3])
  open[#open + 1] = key
  redis.call('HSET', inputs, 'request:' .. key, asked[i + 1])
  if asked[i + 2] ~= '' then redis.call('HSET', inputs, 'validator:' .. key, asked[i + 2]) end
  if time_limit > 0 then
    redis.call('HSET', inputs, 'limit:' .. key, at + time_limit)
    if not first_limit or at + time_limit < first_limit then first_limit = at + time_limit end
  end
end
redis.call('PEXPIREAT', inputs, tonumber(record.expires) + SLACK)
local list = table.concat(open, ' ')
redis.call('HSET', task, 'phase', 'parked', 'status', 'input_required', 'parked_by', run_id, 'open', list, 'round', list,
  'message', message, 'updated', at)
redis.call('HDEL', task, 'run_id', 'lease', 'lost', 'limit')
if first_limit then redis.call('HSET', task, 'limit', first_limit) end
schedule(due, id, record.expires, first_limit)
announce(id)
return { 'PARKED' }

-- Gives a run the lease of a queued task, and hands over all that it needs to begin.
-- Sent twice with the same run id: the same lease, counted once.
-- Replies: CLAIMED run_number owner tool arguments capabilities trace created expires, steps, inputs ·
--          BUSY · PARKED · DELEGATED · TERMINAL · GONE
--! keys task inputs steps due
--! args id run_id lease_ms message

local record = fields(task, 'phase', 'run_id', 'run_number', 'owner', 'tool', 'arguments', 'capabilities', 'trace',
  'created', 'expires')
if not record.phase then return { 'GONE' } end
if record.phase == 'done' then return { 'TERMINAL' } end
if record.phase == 'parked' then return { 'PARKED' } end
if record.phase == 'delegated' then return { 'DELEGATED' } end

local number = tonumber(record.run_number or '0')
if record.phase == 'running' then
  if record.run_id ~= run_id then return { 'BUSY' } end
else
  local at = clock()
  local lease = at + tonumber(lease_ms)
  number = number + 1
  redis.call('HSET', task, 'phase', 'running', 'run_id', run_id, 'run_number', number, 'lease', lease,
    'message', message, 'updated', at)
  redis.call('HDEL', task, 'resend', 'sends', 'round', 'progress')
  schedule(due, id, record.expires, lease)
  announce(id)
end
return { 'CLAIMED', number, record.owner, record.tool, record.arguments, record.capabilities, record.trace or '',
  record.created, record.expires, redis.call('HGETALL', steps), redis.call('HGETALL', inputs) }

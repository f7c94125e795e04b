-- Ends a run that will not come back: its lease is dead, or it ignored a cancel past the grace, as delegated
-- work may too. The next run is due, or the task ends: cancelled if that was asked for, failed when it has cost too many
-- workers.
-- Sent twice: the second is early.
-- Replies: REQUEUED tool run_number owner · CANCELLED · FAILED · HELD (after an outage leases are given time) · EARLY
--! keys task inputs steps due
--! args id held resend keep code

local record = fields(task, 'phase', 'tool', 'lease', 'expires', 'lost', 'max_runs', 'cancel', 'cancel_at', 'run_number',
  'owner')
if record.phase ~= 'running' and record.phase ~= 'delegated' then return { 'EARLY' } end
local at = clock()
local lease = tonumber(record.lease or math.huge)
local k = { task = task, inputs = inputs, steps = steps, due = due }
if record.cancel and (tonumber(record.cancel_at) <= at or lease <= at) then
  close(k, id, at, keep, { 'status', 'cancelled', 'message', 'Cancelled' })
  return { 'CANCELLED' }
end
if lease > at then return { 'EARLY' } end
if held == '1' then return { 'HELD' } end

local lost = tonumber(record.lost or '0') + 1
if lost >= tonumber(record.max_runs) then
  local why = 'The worker was lost ' .. lost .. ' times while it ran this task'
  if lost == 1 then why = 'The worker was lost while it ran this task' end
  close(k, id, at, keep, { 'status', 'failed', 'message', why, 'error_code', code, 'error_message', why })
  return { 'FAILED' }
end
local next_send = at + tonumber(resend)
redis.call('HSET', task, 'phase', 'queued', 'lost', lost, 'resend', next_send, 'updated', at,
  'message', 'The worker was lost; another one goes on')
redis.call('HDEL', task, 'run_id', 'lease')
schedule(due, id, record.expires, next_send)
announce(id)
return { 'REQUEUED', record.tool, record.run_number + 1, record.owner }

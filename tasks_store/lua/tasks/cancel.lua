-- Cancels a task that nobody runs; asks a running one to end, which it must within `grace` or be fenced off. A delegated
-- one is looked at now, by a watcher that can tell whoever works on it.
-- Sent twice: the same as once.
-- Replies: NOT_FOUND · DONE tool run_number owner (of the run that will not be) · REQUESTED tool run_number owner (of the
--          run that has to end, if it is one of ours) · TOO_LATE
--! keys task inputs steps due watched
--! args id owner grace keep message

local record = fields(task, 'owner', 'phase', 'expires', 'lease', 'cancel', 'tool', 'run_number')
if record.owner ~= owner then return { 'NOT_FOUND' } end
if record.phase == 'done' then return { 'TOO_LATE' } end
local at = clock()
if record.phase ~= 'running' and record.phase ~= 'delegated' then
  close({ task = task, inputs = inputs, steps = steps, due = due }, id, at, keep,
    { 'status', 'cancelled', 'message', message })
  return { 'DONE', record.tool, (record.run_number or 0) + 1, owner }
end
if not record.cancel then
  local deadline = at + tonumber(grace)
  redis.call('HSET', task, 'cancel', '1', 'cancel_at', deadline, 'message', 'Cancelling', 'updated', at)
  schedule(due, id, record.expires, record.lease, deadline)
  announce(id)
end
if record.phase == 'delegated' then
  redis.call('ZADD', watched, 'XX', at, id)
  return { 'REQUESTED' }
end
return { 'REQUESTED', record.tool, record.run_number, owner }

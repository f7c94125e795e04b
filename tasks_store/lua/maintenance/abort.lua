-- Fails a task whose run was killed from outside for a reason that another run would meet again; it is cancelled if that
-- was asked for.
-- Sent twice: ended once.
-- Replies: ABORTED · SUPERSEDED
--! keys task inputs steps due
--! args id process keep code message

local record = fields(task, 'phase', 'run_id')
if record.phase ~= 'running' or not runs_in(record.run_id, process) then return { 'SUPERSEDED' } end
close({ task = task, inputs = inputs, steps = steps, due = due }, id, clock(), keep,
  { 'status', 'failed', 'message', message, 'error_code', code, 'error_message', message })
return { 'ABORTED' }

-- Cancels a task because an operator revoked the message of its run: the run will not begin, or its process was killed.
-- Another run's message changes nothing.
-- Sent twice: the second finds it ended.
-- Replies: REVOKED · IGNORED
--! keys task inputs steps due
--! args id number keep message

local record = fields(task, 'phase', 'run_number')
local run_number = tonumber(record.run_number or '0')
local is_queued = record.phase == 'queued' and run_number + 1 == tonumber(number)
local is_running = record.phase == 'running' and run_number == tonumber(number)
if not is_queued and not is_running then return { 'IGNORED' } end
close({ task = task, inputs = inputs, steps = steps, due = due }, id, clock(), keep,
  { 'status', 'cancelled', 'message', message })
return { 'REVOKED' }

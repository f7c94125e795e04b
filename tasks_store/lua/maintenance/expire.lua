-- Ends a task that outlived its time to live: failed, or cancelled if that was asked for.
-- Sent twice: ended once.
-- Replies: EXPIRED · EARLY (not yet, or it has ended)
--! keys task inputs steps due
--! args id keep code

local record = fields(task, 'phase', 'expires')
local at = clock()
if not record.phase or record.phase == 'done' or tonumber(record.expires) > at then return { 'EARLY' } end
local why = 'The task did not finish within its time to live'
if record.phase == 'parked' then why = 'The input was not given within the time to live of the task' end
close({ task = task, inputs = inputs, steps = steps, due = due }, id, at, keep,
  { 'status', 'failed', 'message', why, 'error_code', code, 'error_message', why })
return { 'EXPIRED' }

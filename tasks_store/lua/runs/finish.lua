-- Ends a task by the run that holds its lease. If somebody asked to cancel it first, it ends as cancelled.
-- Sent twice by the same run: ended once.
-- Replies: FINISHED status · SUPERSEDED
--! keys task inputs steps due
--! args id run_id keep status message result error_code error_message error_data

local record = fields(task, 'phase', 'status', 'run_id', 'finished_by', 'cancel')
if record.phase == 'done' and record.finished_by == run_id then return { 'FINISHED', record.status } end
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end

local ending = { 'finished_by', run_id, 'status', status, 'message', message }
if record.cancel then
  status = 'cancelled'
  ending = { 'finished_by', run_id, 'status', status, 'message', 'Cancelled' }
elseif status == 'completed' then
  ending[7], ending[8] = 'result', result
elseif status == 'failed' then
  ending[7], ending[8], ending[9], ending[10] = 'error_code', error_code, 'error_message', error_message
  if error_data ~= '' then ending[11], ending[12] = 'error_data', error_data end
end
close({ task = task, inputs = inputs, steps = steps, due = due }, id, clock(), keep, ending)
return { 'FINISHED', status }

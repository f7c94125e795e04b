-- Ends a task by the run that holds its lease. If somebody asked to cancel it first, it ends as cancelled.
-- Sent twice by the same run: ended once.
-- Replies: FINISHED status · SUPERSEDED
--! keys task inputs steps due
--! args id run_id keep status message result error_code error_message error_data

local record = fields(task, 'phase', 'status', 'run_id', 'finished_by')
if record.phase == 'done' and record.finished_by == run_id then return { 'FINISHED', record.status } end
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end

local ending = { 'status', status, 'message', message }
if status == 'completed' then
  ending[5], ending[6] = 'result', result
elseif status == 'failed' then
  ending[5], ending[6], ending[7], ending[8] = 'error_code', error_code, 'error_message', error_message
  if error_data ~= '' then ending[9], ending[10] = 'error_data', error_data end
end
local ended = close({ task = task, inputs = inputs, steps = steps, due = due }, id, clock(), keep, ending)
redis.call('HSET', task, 'finished_by', run_id)
return { 'FINISHED', ended }

-- Hands a run back before its end, because its worker shuts down: the task is queued again. Not counted as lost.
-- Sent twice: the second is superseded, which is as well.
-- Replies: RELEASED tool run_number owner · CANCELLED (it has to end instead) · SUPERSEDED
--! keys task due
--! args id run_id resend message

local record = fields(task, 'phase', 'run_id', 'expires', 'tool', 'cancel', 'run_number', 'owner')
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
if record.cancel then return { 'CANCELLED' } end
local at = clock()
local next_send = at + tonumber(resend)
redis.call('HSET', task, 'phase', 'queued', 'message', message, 'updated', at, 'resend', next_send)
redis.call('HDEL', task, 'run_id', 'lease')
schedule(due, id, record.expires, next_send)
announce(id)
return { 'RELEASED', record.tool, record.run_number + 1, record.owner }

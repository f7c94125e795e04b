-- Shows what a run is doing, extends its lease, and tells whether somebody asked for its end.
-- Sent twice: the same message stands, announced twice.
-- Replies: NOTED cancel (1 or 0) · SUPERSEDED
--! keys task due
--! args id run_id lease_ms message event

local record = fields(task, 'phase', 'run_id', 'expires', 'cancel', 'cancel_at', 'message', 'progress')
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
local at = clock()
local lease = at + tonumber(lease_ms)
redis.call('HSET', task, 'lease', lease)
if record.message ~= message or record.progress ~= event then
  redis.call('HSET', task, 'message', message, 'progress', event, 'updated', at)
end
schedule(due, id, record.expires, lease, record.cancel_at)
announce(id .. ' ' .. event)
return { 'NOTED', record.cancel or '0' }

-- Extends the lease of a run and tells whether somebody asked for its end.
-- Sent twice: the lease is extended twice.
-- Replies: RENEWED cancel (1 or 0) · SUPERSEDED
--! keys task due
--! args id run_id lease_ms

local record = fields(task, 'phase', 'run_id', 'expires', 'cancel', 'cancel_at')
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
local lease = clock() + tonumber(lease_ms)
redis.call('HSET', task, 'lease', lease)
schedule(due, id, record.expires, lease, record.cancel_at)
return { 'RENEWED', record.cancel or '0' }

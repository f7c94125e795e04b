-- Keeps the result of a step, so that no later run repeats it, extends the lease, and tells whether somebody asked for
-- the run's end. The task has got further, so runs that were lost before no longer count against it.
-- Sent twice: the first result stands.
-- Replies: KEPT cancel (1 or 0) · SUPERSEDED
--! keys task steps due
--! args id run_id lease_ms step result

local record = fields(task, 'phase', 'run_id', 'expires', 'cancel', 'cancel_at')
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
if redis.call('HSETNX', steps, step, result) == 1 then redis.call('HDEL', task, 'lost') end
redis.call('PEXPIREAT', steps, tonumber(record.expires) + SLACK)
local lease = clock() + tonumber(lease_ms)
redis.call('HSET', task, 'lease', lease)
schedule(due, id, record.expires, lease, record.cancel_at)
return { 'KEPT', record.cancel or '0' }

-- Lets the lease of a run die now, because its process is known to be gone: what follows need not wait for the lease.
-- Sent twice: the second finds the lease dead.
-- Replies: ABANDONED · SUPERSEDED
--! keys task due
--! args id run_number

local record = fields(task, 'phase', 'run_number')
if record.phase ~= 'running' or record.run_number ~= run_number then return { 'SUPERSEDED' } end
local at = clock()
redis.call('HSET', task, 'lease', at)
redis.call('ZADD', due, at, id)
return { 'ABANDONED' }

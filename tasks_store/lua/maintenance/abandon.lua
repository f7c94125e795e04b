-- Lets the lease of a run die now, because its process is known to be gone: what follows need not wait for the lease.
-- A run of another process is left alone, even one of the same task: its message may have been sent twice.
-- Sent twice: the second finds the lease dead.
-- Replies: ABANDONED · SUPERSEDED
--! keys task due
--! args id process

local record = fields(task, 'phase', 'run_id')
if record.phase ~= 'running' or not runs_in(record.run_id, process) then return { 'SUPERSEDED' } end
local at = clock()
redis.call('HSET', task, 'lease', at)
redis.call('ZADD', due, at, id)
return { 'ABANDONED' }

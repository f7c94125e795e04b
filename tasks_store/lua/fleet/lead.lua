-- Makes this worker the one that sweeps, if nobody else is.
-- Sent twice: its lease is extended twice.
-- Replies: LEADING · FOLLOWING
--! keys sweeper
--! args worker lease_ms

local holder = redis.call('GET', sweeper)
if holder and holder ~= worker then return { 'FOLLOWING' } end
redis.call('SET', sweeper, worker, 'PX', lease_ms)
return { 'LEADING' }

-- Ends a run whose work is now with somebody else's worker: the lease is dropped, and `watched` says when to look first.
-- Sent twice by the same run: delegated once. A run that somebody asked to cancel does not delegate.
-- Replies: DELEGATED · CANCELLED (it has to end instead) · SUPERSEDED
--! keys task due watched
--! args id run_id message first

local record = fields(task, 'phase', 'run_id', 'delegated_by', 'expires', 'cancel')
if record.phase == 'delegated' and record.delegated_by == run_id then return { 'DELEGATED' } end
if record.phase ~= 'running' or record.run_id ~= run_id then return { 'SUPERSEDED' } end
if record.cancel then return { 'CANCELLED' } end
local at = clock()
redis.call('HSET', task, 'phase', 'delegated', 'delegated_by', run_id, 'delegated', at, 'message', message, 'updated', at)
redis.call('HDEL', task, 'run_id', 'lease', 'lost')
schedule(due, id, record.expires)
redis.call('ZADD', watched, at + tonumber(first), id)
-- The index lives for as long as the longest of its tasks.
local forgotten = tonumber(record.expires) + SLACK
if redis.call('PTTL', watched) < forgotten - at then redis.call('PEXPIREAT', watched, forgotten) end
announce(id)
return { 'DELEGATED' }

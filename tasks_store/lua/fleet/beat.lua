-- Notes that a worker lives, as `worker`; `otherwise` is the name that it would have if it took messages, or took none.
-- When no worker was seen for longer than `gap`, the store was away (or every worker was), and
-- leases may have died for no fault of their runs: recovery is held back for `hold_ms`, so that they can be renewed.
-- Sent twice: seen twice.
-- Replies: SEEN held (1 or 0)
--! keys workers hold
--! args worker otherwise gap hold_ms

local at = clock()
local newest = redis.call('ZREVRANGE', workers, 0, 0, 'WITHSCORES')
if newest[2] and at - tonumber(newest[2]) > tonumber(gap) then redis.call('SET', hold, worker, 'PX', hold_ms) end
redis.call('ZADD', workers, at, worker)
redis.call('ZREM', workers, otherwise)
redis.call('ZREMRANGEBYSCORE', workers, '-inf', at - SLACK)
return { 'SEEN', redis.call('EXISTS', hold) }

-- Gives one watcher the next look at a delegated task, for `hold`: after that, whoever comes first looks again. A task that
-- ended by itself is not watched any more, and the watcher that hears of it has to see to the work.
-- Sent twice: the second is early.
-- Replies: LOOK tool age cancel (1 or 0) note · ENDED tool (empty when the record is gone) · EARLY
--! keys task watched
--! args id hold

local at = clock()
local next_look = tonumber(redis.call('ZSCORE', watched, id))
if not next_look or next_look > at then return { 'EARLY' } end
local record = fields(task, 'phase', 'tool', 'delegated', 'cancel', 'note')
if record.phase ~= 'delegated' then
  redis.call('ZREM', watched, id)
  return { 'ENDED', record.tool or '' }
end
redis.call('ZADD', watched, at + tonumber(hold), id)
return { 'LOOK', record.tool, at - tonumber(record.delegated), record.cancel or '0', record.note or '' }

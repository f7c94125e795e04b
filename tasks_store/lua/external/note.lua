-- Keeps what a look at a delegated task brought, and says when to look next. A progress `event` goes to the feed.
-- Sent twice: noted once, announced twice.
-- Replies: NOTED · ENDED (the task is not delegated any more)
--! keys task watched
--! args id pause message note event

local record = fields(task, 'phase', 'message', 'cancel', 'progress')
if record.phase ~= 'delegated' then return { 'ENDED' } end
local at = clock()
redis.call('ZADD', watched, 'XX', at + tonumber(pause), id)
redis.call('HSET', task, 'note', note)
if (record.message ~= message or (record.progress or '') ~= event) and not record.cancel then
  redis.call('HSET', task, 'message', message, 'progress', event, 'updated', at)
  if event == '' then announce(id) end
end
if event ~= '' then announce(id .. ' ' .. event) end
return { 'NOTED' }

-- Notes that the message of a queued task is sent once more, because none led to a run in time. Waits twice as long
-- each time, so that a long queue is not flooded with copies.
-- Sent twice: the second is early.
-- Replies: RESEND tool run_number owner · EARLY
--! keys task due
--! args id resend most

local record = fields(task, 'phase', 'tool', 'expires', 'resend', 'sends', 'run_number', 'owner')
local at = clock()
if record.phase ~= 'queued' or tonumber(record.resend) > at then return { 'EARLY' } end
local sends = tonumber(record.sends or '0') + 1
local next_send = at + math.min(tonumber(resend) * 2 ^ sends, tonumber(most))
redis.call('HSET', task, 'resend', next_send, 'sends', sends)
schedule(due, id, record.expires, next_send)
return { 'RESEND', record.tool, (record.run_number or 0) + 1, record.owner }

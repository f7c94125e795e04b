-- Deletes all that is left of an ended task that has expired.
-- Sent twice: the second finds nothing.
-- Replies: PURGED · EARLY
--! keys task inputs steps due call
--! args id

local record = fields(task, 'phase', 'expires')
if record.phase and (record.phase ~= 'done' or tonumber(record.expires) > clock()) then return { 'EARLY' } end
redis.call('DEL', task, inputs, steps, call)
redis.call('ZREM', due, id)
return { 'PURGED' }

-- Deletes all that is left of an ended task that has expired.
-- Sent twice: the second finds nothing.
-- Replies: PURGED · EARLY
--! keys task inputs steps due call by_owner by_tenant
--! args id listed

local record = fields(task, 'phase', 'expires')
if record.phase and (record.phase ~= 'done' or tonumber(record.expires) > clock()) then return { 'EARLY' } end
redis.call('DEL', task, inputs, steps, call)
redis.call('ZREM', due, id)
redis.call('ZREM', by_owner, listed)
redis.call('ZREM', by_tenant, listed)
return { 'PURGED' }

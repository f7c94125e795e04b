-- Tells which transition the clock calls for; drops the index entry of a record that is gone, and corrects one that is
-- early. Sent twice: the same answer.
-- Replies: EXPIRE · RECOVER · RESEND · LAPSE · PURGE owner call (empty without an idempotency key) · NOTHING
--! keys task due
--! args id

local record = fields(task, 'phase', 'expires', 'lease', 'resend', 'limit', 'cancel_at', 'call', 'owner')
if not record.phase then
  redis.call('ZREM', due, id)
  return { 'NOTHING' }
end
local at = clock()
local function past(field) return tonumber(record[field] or math.huge) <= at end

if record.phase == 'done' then
  if past('expires') then return { 'PURGE', record.owner, record.call or '' } end
elseif past('expires') then
  return { 'EXPIRE' }
elseif record.phase == 'running' or record.phase == 'delegated' then
  if past('lease') or past('cancel_at') then return { 'RECOVER' } end
elseif record.phase == 'parked' then
  if past('limit') then return { 'LAPSE' } end
elseif past('resend') then
  return { 'RESEND' }
end
schedule(due, id, record.expires, record.lease, record.cancel_at,
  record.phase == 'parked' and record.limit, record.phase == 'queued' and record.resend)
return { 'NOTHING' }

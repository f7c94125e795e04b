-- Writes a new task: record, time to live, index entries, inputs answered beforehand and idempotency key, all or nothing.
-- Sent twice: the second finds the record and changes nothing.
-- Replies: CREATED created · EXISTS id (the same call made it) · CONFLICT id (the key was used for another call)
--! keys task inputs due call by_owner by_tenant
--! args id listed owner tool arguments capabilities trace ttl poll max_runs resend call_sha fingerprint message *answers

local created = redis.call('HGET', task, 'created')
if created then return { 'CREATED', created } end

if call_sha ~= '' then
  local taken = redis.call('GET', call)
  if taken then
    local other, print = string.match(taken, '^(%S+) (%S+)$')
    if print ~= fingerprint then return { 'CONFLICT', other } end
    return { 'EXISTS', other }
  end
end

local at = clock()
local expires = at + tonumber(ttl)
local next_send = at + tonumber(resend)
redis.call('HSET', task, 'owner', owner, 'tool', tool, 'arguments', arguments, 'capabilities', capabilities,
  'status', 'working', 'phase', 'queued', 'message', message, 'created', at, 'updated', at, 'ttl', ttl,
  'expires', expires, 'poll', poll, 'max_runs', max_runs, 'resend', next_send)
if trace ~= '' then redis.call('HSET', task, 'trace', trace) end
redis.call('PEXPIREAT', task, expires + SLACK)
for i = 1, #answers, 3 do
  local key = answers[i]
  redis.call('HSET', inputs, 'request:' .. key, answers[i + 1], 'answer:' .. key, answers[i + 2], 'verdict:' .. key,
    'accepted')
end
if #answers > 0 then redis.call('PEXPIREAT', inputs, expires + SLACK) end
if call_sha ~= '' then
  redis.call('HSET', task, 'call', call_sha)
  redis.call('SET', call, id .. ' ' .. fingerprint, 'PXAT', expires + SLACK)
end
for _, index in ipairs({ by_owner, by_tenant }) do
  redis.call('ZADD', index, at, listed)
  -- A record that ends late is kept longer, by three hours at most; the index is there for an hour more, so that only
  -- one creation in an hour has to move its end.
  if redis.call('PTTL', index) < expires - at + 3 * SLACK then redis.call('PEXPIREAT', index, expires + 4 * SLACK) end
end
schedule(due, id, expires, next_send)
return { 'CREATED', at }

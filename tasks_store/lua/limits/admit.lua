-- Counts a new task among the living ones of its owner and of its tenant, unless one of them has too many. What is past
-- its time to live counts no longer.
-- Sent twice: counted once.
-- Replies: ADMITTED · OWNER (has too many) · TENANT (has too many)
--! keys owner tenant
--! args id ttl per_owner per_tenant

local at = clock()
redis.call('ZREMRANGEBYSCORE', owner, '-inf', at)
redis.call('ZREMRANGEBYSCORE', tenant, '-inf', at)
if redis.call('ZSCORE', owner, id) then return { 'ADMITTED' } end
if redis.call('ZCARD', owner) >= tonumber(per_owner) then return { 'OWNER' } end
if redis.call('ZCARD', tenant) >= tonumber(per_tenant) then return { 'TENANT' } end
for _, count in ipairs({ owner, tenant }) do
  redis.call('ZADD', count, at + tonumber(ttl), id)
  -- The count lives as long as the last task in it.
  if redis.call('PTTL', count) < tonumber(ttl) then redis.call('PEXPIREAT', count, at + tonumber(ttl)) end
end
return { 'ADMITTED' }

-- Takes `count` from a bucket that refills steadily, one `every` so many ms, and holds `burst`; or tells when they are
-- there.
-- Sent twice with the same nonce: taken once.
-- Replies: TAKEN · WAIT ms
--! keys bucket
--! args nonce count every burst

local at = clock()
local record = fields(bucket, 'full_at', 'nonce')
if record.nonce == nonce then return { 'TAKEN' } end
every = tonumber(every)
count = math.min(tonumber(count), tonumber(burst))
-- The bucket is kept as the moment at which it will be full again.
local full_at = math.max(tonumber(record.full_at or '0'), at)
local wait = full_at - at - every * (tonumber(burst) - count)
if wait > 0 then return { 'WAIT', math.ceil(wait) } end
redis.call('HSET', bucket, 'full_at', full_at + every * count, 'nonce', nonce)
redis.call('PEXPIREAT', bucket, math.ceil(full_at + every * count))
return { 'TAKEN' }

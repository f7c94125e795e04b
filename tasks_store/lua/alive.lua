-- Counts the workers seen within `within`. Writes nothing.
-- Replies: ALIVE count
--! keys workers
--! args within

return { 'ALIVE', redis.call('ZCOUNT', workers, clock() - tonumber(within), '+inf') }

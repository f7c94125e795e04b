-- Finds the task that an earlier sending of the same call made. Writes nothing.
-- Replies: UNKNOWN · EXISTS id · CONFLICT id (the key was used for another call)
--! keys call
--! args fingerprint

local taken = redis.call('GET', call)
if not taken then return { 'UNKNOWN' } end
local id, print = string.match(taken, '^(%S+) (%S+)$')
if print ~= fingerprint then return { 'CONFLICT', id } end
return { 'EXISTS', id }

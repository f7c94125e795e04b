-- Adds to the deployment's counts what one process has counted since it last did so. Processes number what they add.
-- Sent twice: added once.
-- Replies: ADDED · REPEATED
--! keys counts last
--! args number *more

if tonumber(redis.call('GET', last) or '0') >= tonumber(number) then return { 'REPEATED' } end
redis.call('SET', last, number, 'PX', SLACK)
for i = 1, #more, 2 do redis.call('HINCRBY', counts, more[i], more[i + 1]) end
return { 'ADDED' }

-- Stands before every script. Times are whole milliseconds; the clock is Redis's own.

local SLACK = 3600000 -- how long past its expiry Redis itself keeps a record that no sweeper purged
local FEED = 'coatcheck:feed' -- the channel that tells of every change; a channel belongs to no slot

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The fields of a hash as a table by name; absent fields are nil.
local function fields(key, ...)
  local names = { ... }
  local values = redis.call('HMGET', key, unpack(names))
  local found = {}
  for i, name in ipairs(names) do
    if values[i] then found[name] = values[i] end
  end
  return found
end

local function words(text)
  local list = {}
  for word in string.gmatch(text or '', '%S+') do list[#list + 1] = word end
  return list
end

-- Whether a run belongs to this process: an id of a run is its process, a dash, and chance.
local function runs_in(run_id, process)
  return string.match(run_id, '^(.*)%-') == process
end

-- The next moment at which the clock changes this task: never after its expiry.
local function schedule(due, id, expires, ...)
  local at = tonumber(expires)
  for i = 1, select('#', ...) do
    local candidate = tonumber((select(i, ...)))
    if candidate and candidate < at then at = candidate end
  end
  redis.call('ZADD', due, at, id)
end

local function announce(id)
  redis.call('PUBLISH', FEED, id)
end

-- Ends a task: one write that leaves nothing of its runs, inputs and steps behind. `ending` holds the fields that
-- tell how it ended, the status first. If somebody asked to cancel it before, it ends as cancelled, whatever else ended it.
-- A finished record stays readable for `keep` at least, and the time to live on the wire follows. Returns the status.
local function close(k, id, at, keep, ending)
  local record = fields(k.task, 'created', 'expires', 'cancel')
  if record.cancel then ending = { 'status', 'cancelled', 'message', 'Cancelled' } end
  local expires = math.max(tonumber(record.expires), at + tonumber(keep))
  redis.call('HDEL', k.task, 'arguments', 'capabilities', 'trace', 'run_id', 'lease', 'resend', 'sends', 'open', 'round',
    'parked_by', 'limit', 'cancel', 'cancel_at', 'lost', 'max_runs', 'message', 'delegated', 'delegated_by', 'note',
    'progress')
  redis.call('HSET', k.task, 'phase', 'done', 'updated', at, 'expires', expires, 'ttl', expires - tonumber(record.created),
    unpack(ending))
  redis.call('DEL', k.inputs, k.steps)
  redis.call('PEXPIREAT', k.task, expires + SLACK)
  redis.call('ZADD', k.due, expires, id)
  announce(id)
  return ending[2]
end

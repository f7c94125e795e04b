"""Makes many records at once: copies of a task that was made in the ordinary way, inside Redis."""

from redis import Redis

from coatcheck.tasks_store.keys import TaskKeys, listed_keys
from coatcheck.tasks_store.model import BUCKETS, Owner

BATCH = 10_000
"""Copies in one script call, so that Redis answers others in between."""

_COPY = """
-- Copies of a task's keys under the ids from ARGV[1] to ARGV[2], in the order of ids; the indexes get them too.
local task, inputs, ttl, expires = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local bucket = number % tonumber(ARGV[7])
  local id = bucket .. string.format('%032x', number)
  local start = 'coatcheck:{' .. bucket .. '}:'
  redis.call('RESTORE', start .. 'task:' .. id, ttl, task)
  if inputs ~= '' then redis.call('RESTORE', start .. 'inputs:' .. id, ttl, inputs) end
  redis.call('ZADD', start .. 'due', expires, id)
  local listed = string.gsub(string.sub(id, 2), '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
  for list = 9, 10 do
    local index = start .. ARGV[list]
    redis.call('ZADD', index, ARGV[8], listed)
    if redis.call('PTTL', index) < ttl then redis.call('PEXPIRE', index, ttl) end
  end
end
"""


def copied_id(number: int) -> str:
    """The id of this copy."""
    return f"{number % BUCKETS}{number:032x}"


def copy(redis: Redis, task_id: str, start: int, end: int) -> None:
    """The copies with the numbers from `start` up to and without `end` exist; their owner is that of the original."""
    keys = TaskKeys.of(task_id)
    task, inputs = redis.dump(keys.task) or b"", redis.dump(keys.inputs) or b""
    ttl, expires = redis.pttl(keys.task), redis.hget(keys.task, "expires") or b""
    created, owner = redis.hmget(keys.task, "created", "owner")
    assert isinstance(owner, bytes)
    by_owner, by_tenant = listed_keys(task_id[0], Owner.from_key(owner.decode())).values()
    lists = [key.partition("}:")[2] for key in (by_owner, by_tenant)]
    script = redis.register_script(_COPY)
    for number in range(start, end, BATCH):
        last = min(number + BATCH, end) - 1
        script(args=[number, last, task, inputs, ttl, expires, BUCKETS, created or b"", *lists])
    assert redis.exists(TaskKeys.of(copied_id(end - 1)).task)

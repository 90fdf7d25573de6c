-- Records a call, unless another process has recorded one with its id, or any process one under its approval, which is
-- returned then. Returns false otherwise.
local known = call_of(id)
if known and approval ~= '' and redis.call('HGET', CALLS, 'approval:' .. id) == approval then
  -- This process does not run it any more, or it would not start another.
  if known.process == process then
    return { known.entry, known.response or false, known.number, false }
  end
  return other(known)
end
if known and known.process ~= process and known.number ~= replaces then
  return other(known)
end

if known then
  remove(id)
end
local last = redis.call('ZRANGE', ORDER, -1, -1, 'WITHSCORES')
local number = math.max(microseconds(), tonumber(last[2] or '0') + 1)
redis.call('ZADD', ORDER, whole(number), id)
redis.call('HSET', CALLS, 'entry:' .. id, entry, 'process:' .. id, process, 'number:' .. id, whole(number),
  'until:' .. id, whole(milliseconds() + tonumber(limit)))
if approval ~= '' then
  redis.call('HSET', CALLS, 'approval:' .. id, approval)
end

-- Some at a time, so that no call of the script is long.
local oldest = whole(microseconds() - tonumber(keep) * 1000)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', ORDER, '-inf', '(' .. oldest, 'LIMIT', 0, 100)) do
  remove(old)
end
redis.call('PEXPIRE', CALLS, keep)
redis.call('PEXPIRE', ORDER, keep)
return false

-- Keeps a call until a person has approved or denied it. ARGV[4..]: its id, the call, its lifetime in milliseconds.
local id, call, lifetime = ARGV[4], ARGV[5], tonumber(ARGV[6])
if not is_live(read()) then
  return inactive()
end
local time = now()
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '-inf', time, 'LIMIT', 0, KEPT_CALLS)) do
  redis.call('ZREM', WAITING, expired)
  redis.call('HDEL', PENDING, expired)
end
-- At most KEPT_CALLS calls wait. The one that would expire first is removed.
if redis.call('ZCARD', WAITING) >= KEPT_CALLS then
  redis.call('HDEL', PENDING, redis.call('ZPOPMIN', WAITING)[1])
end
redis.call('ZADD', WAITING, time + lifetime, id)
redis.call('HSET', PENDING, id, call)
return used('minted')

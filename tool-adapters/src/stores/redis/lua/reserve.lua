-- Takes a slot for an open session, if there is one.
-- KEYS: the slots by the time at which they may be free. ARGV: the member, its idle time, the number of slots.
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  return 0
end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return 1

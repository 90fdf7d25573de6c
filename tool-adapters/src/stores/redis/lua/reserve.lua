-- Takes a place among the open sessions, where there is one.
-- KEYS: the places, by when they may be free again. ARGV: the member, its idle time, how many places there are.
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  return 0
end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return 1

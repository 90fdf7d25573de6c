-- Keeps the places of a call for another lease. KEYS: the places of each limit.
local clock = redis.call('TIME')
local milliseconds = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
for _, places in ipairs(KEYS) do
  redis.call('ZADD', places, string.format('%.0f', milliseconds + tonumber(lease)), holder)
  if redis.call('PTTL', places) < tonumber(lease) then
    redis.call('PEXPIRE', places, lease)
  end
end

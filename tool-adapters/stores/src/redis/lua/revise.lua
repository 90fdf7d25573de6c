-- Frees slots, or keeps them for longer. ARGV: pairs of a member and the milliseconds until its session expires.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for at = REST, #ARGV, 2 do
  local remaining = tonumber(ARGV[at + 1])
  if remaining > 0 then
    redis.call('ZADD', KEYS[1], 'XX', now + remaining, ARGV[at])
  else
    redis.call('ZREM', KEYS[1], ARGV[at])
  end
end
return 1

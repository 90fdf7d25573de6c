-- Lists a call that is about to wait for approval. KEYS: the list of its principal. The score is the time until which it waits.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- Some at a time, so that no call of the script is long.
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[1], expired)
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(lifetime)), member)
for _, rule in ipairs({ 'NX', 'GT' }) do
  redis.call('PEXPIRE', KEYS[1], lifetime, rule)
end
return 1

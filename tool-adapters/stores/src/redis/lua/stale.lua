-- Returns the slots whose sessions may have expired.
local time = redis.call('TIME')
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000), 'LIMIT', 0, limit)

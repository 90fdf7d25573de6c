-- Checks a call against limits, and counts it if every one admits it. KEYS: two for each limit, the hash of its rate and the
-- places of the calls that run. The arguments of each limit follow: the microseconds in which one call becomes possible, the
-- calls of the rate, and the calls that may run at once; an empty text if there is no such limit.
--
-- Returns {'granted', the indices of limits of which the call has a place since now}, or {'refused', the index of the limit, the
-- part that refuses, the microseconds to wait}. Changes nothing unless `counts` is 1.
local PLACE_RETRY = 1000000
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local milliseconds = math.floor(now / 1000)

local limits, refusal = {}, nil

local function refuse(at, by, wait)
  if not refusal or wait > refusal.wait then
    refusal = { at = at, by = by, wait = wait }
  end
end

for at = 1, #KEYS / 2 do
  local first = REST + 3 * (at - 1)
  local limit = {
    rate = KEYS[2 * at - 1], places = KEYS[2 * at],
    interval = tonumber(ARGV[first]), calls = tonumber(ARGV[first + 1]), concurrent = tonumber(ARGV[first + 2]),
  }
  if limit.interval then
    local idle = tonumber(redis.call('HGET', limit.rate, 'idle') or '0')
    -- A time that is further away than a full bucket makes it comes from another setting.
    limit.begin = math.min(math.max(idle, now), now + limit.interval * limit.calls)
    local wait = limit.begin - now - limit.interval * (limit.calls - 1)
    if wait > 0 then
      refuse(at - 1, 'rate', wait)
    end
  end
  if limit.concurrent then
    -- Some at a time, so that no call of the script is long.
    for _, ended in ipairs(redis.call('ZRANGEBYSCORE', limit.places, '-inf', milliseconds, 'LIMIT', 0, 1000)) do
      redis.call('ZREM', limit.places, ended)
    end
    local places = redis.call('ZCARD', limit.places)
    if redis.call('ZSCORE', limit.places, holder) then
      places = places - 1
    end
    if places >= limit.concurrent then
      refuse(at - 1, 'concurrent', PLACE_RETRY)
    end
  end
  limits[at] = limit
end

if refusal then
  return { 'refused', tostring(refusal.at), refusal.by, string.format('%.0f', refusal.wait) }
end
if counts ~= '1' then
  return { 'granted' }
end
local granted = { 'granted' }
for at, limit in ipairs(limits) do
  if limit.interval then
    local idle = limit.begin + limit.interval
    redis.call('HSET', limit.rate, 'idle', string.format('%.0f', idle))
    redis.call('PEXPIRE', limit.rate, string.format('%.0f', math.ceil((idle - now) / 1000) + 1))
  end
  if limit.concurrent then
    if redis.call('ZADD', limit.places, string.format('%.0f', milliseconds + tonumber(lease)), holder) == 1 then
      granted[#granted + 1] = tostring(at - 1)
    end
    if redis.call('PTTL', limit.places) < tonumber(lease) then
      redis.call('PEXPIRE', limit.places, lease)
    end
  end
end
return granted

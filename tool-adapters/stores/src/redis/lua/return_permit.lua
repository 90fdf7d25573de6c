-- Gives back what a call has taken of a limit, because another limit refuses it. KEYS: the hash of its rate and the places of
-- the calls that run.
if interval ~= '' then
  local idle = tonumber(redis.call('HGET', KEYS[1], 'idle') or '0')
  if idle > 0 then
    redis.call('HSET', KEYS[1], 'idle', string.format('%.0f', idle - tonumber(interval)))
  end
end
if has_place == '1' then
  redis.call('ZREM', KEYS[2], holder)
end
return 1

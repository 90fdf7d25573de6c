-- Takes a place among the open sessions, unless all are taken. KEYS: the places. The score is the time at which someone looks
-- at the session: one that has not opened by then gives its place back.
-- Milliseconds for which the places are kept beyond the idle time of the session that was opened last: 30 days.
local KEPT = 2592000000
if redis.call('ZCARD', KEYS[1]) >= tonumber(max_sessions) then
  return 0
end
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + math.min(tonumber(reserved), tonumber(idle))), member)
for _, rule in ipairs({ 'NX', 'GT' }) do
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', tonumber(idle) + KEPT), rule)
end
return 1

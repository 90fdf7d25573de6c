-- Keeps a call until a person has approved or denied it. ARGV[4..]: its id, the call, its lifetime in milliseconds, its
-- turn, its bytes; then the calls of a session, the calls of a turn and the bytes that may wait.
local id, call, lifetime, turn, bytes = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local of_session, of_turn, of_bytes = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
if not is_live(read()) then
  return inactive()
end
local time = now()
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '-inf', time)) do
  forget_call(expired)
end
local waiting, same_turn = redis.call('ZRANGE', WAITING, 0, -1), 0
for _, other in ipairs(waiting) do
  local of, size = string.match(redis.call('HGET', PENDING, sizes(other)) or '', '^(%d+) (%d+)$')
  same_turn = same_turn + (of == turn and 1 or 0)
  bytes = bytes + number(size)
end
if same_turn >= of_turn then
  return used('full', 'turn')
elseif #waiting >= of_session then
  return used('full', 'session')
elseif bytes > of_bytes then
  return used('full', 'bytes')
end
redis.call('ZADD', WAITING, time + lifetime, id)
redis.call('HSET', PENDING, id, call, sizes(id), turn .. ' ' .. ARGV[8])
return used('waits')

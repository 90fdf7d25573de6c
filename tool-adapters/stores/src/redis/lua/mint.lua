-- Keeps a call until a person has approved or denied it.
if not is_live(read()) then
  return inactive()
end
local time = now()
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', WAITING, '-inf', time)) do
  forget_call(expired)
end
local waiting, same_turn, all_bytes = redis.call('ZRANGE', WAITING, 0, -1), 0, tonumber(bytes)
for _, other in ipairs(waiting) do
  local of, size = string.match(redis.call('HGET', PENDING, sizes(other)) or '', '^(%d+) (%d+)$')
  same_turn = same_turn + (of == turn and 1 or 0)
  all_bytes = all_bytes + number(size)
end
if same_turn >= tonumber(max_of_turn) then
  return used('full', 'turn')
elseif #waiting >= tonumber(max_of_session) then
  return used('full', 'session')
elseif all_bytes > tonumber(max_bytes) then
  return used('full', 'bytes')
end
redis.call('ZADD', WAITING, time + tonumber(lifetime), id)
redis.call('HSET', PENDING, id, call, sizes(id), turn .. ' ' .. bytes)
return used('waits')

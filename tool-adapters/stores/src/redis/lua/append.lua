-- Appends messages, whose texts follow the arguments. `id` and `member` are the names in the two lists, and `expected` is the
-- number of messages that the writer knows.
local size = redis.call('HMGET', HEAD, 'messages', 'bytes')
local messages, bytes = size[1] or '0', tonumber(size[2] or '0')
if messages ~= expected then
  return { 'conflict', messages }
end
local added = #ARGV - REST + 1
if tonumber(messages) + added > tonumber(max_messages) then
  return { 'full', 'messages' }
end
for at = REST, #ARGV do
  bytes = bytes + #ARGV[at]
end
if bytes > tonumber(max_bytes) then
  return { 'full', 'bytes' }
end
used(HEAD, id, member)
for first = REST, #ARGV, 1000 do
  redis.call('RPUSH', MESSAGES, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
redis.call('HSET', HEAD, 'bytes', string.format('%.0f', bytes))
return { 'appended', tostring(redis.call('HINCRBY', HEAD, 'messages', added)) }

-- Appends messages. ARGV: the names in the two lists, the messages that the writer knows, the most messages and bytes that a
-- conversation may have; then the texts of the messages.
local id, member, expected = ARGV[1], ARGV[2], ARGV[3]
local size = redis.call('HMGET', HEAD, 'messages', 'bytes')
local messages, bytes = size[1] or '0', tonumber(size[2] or '0')
if messages ~= expected then
  return { 'conflict', messages }
end
local added = #ARGV - 5
if tonumber(messages) + added > tonumber(ARGV[4]) then
  return { 'full', 'messages' }
end
for at = 6, #ARGV do
  bytes = bytes + #ARGV[at]
end
if bytes > tonumber(ARGV[5]) then
  return { 'full', 'bytes' }
end
used(HEAD, id, member)
for first = 6, #ARGV, 1000 do
  redis.call('RPUSH', MESSAGES, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
redis.call('HSET', HEAD, 'bytes', string.format('%.0f', bytes))
return { 'appended', tostring(redis.call('HINCRBY', HEAD, 'messages', added)) }

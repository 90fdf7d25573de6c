-- Copies the first messages into a new conversation. KEYS[5], KEYS[6]: the new conversation.
-- ARGV: the new one's names in the two lists, when the old one was created, the number of messages, and the info.
local new_head, new_messages = KEYS[5], KEYS[6]
local last = tonumber(ARGV[4])
if redis.call('HGET', HEAD, 'created') ~= ARGV[3] then
  return 'missing'
end
if redis.call('EXISTS', new_head) == 1 then
  return 'exists'
end
redis.call('DEL', new_messages)
local bytes = 0
for first = 0, last - 1, 1000 do
  local texts = redis.call('LRANGE', MESSAGES, first, math.min(first + 999, last - 1))
  for _, text in ipairs(texts) do
    bytes = bytes + #text
  end
  if #texts > 0 then
    redis.call('RPUSH', new_messages, unpack(texts))
  end
end
used(new_head, ARGV[1], ARGV[2])
redis.call('HSET', new_head, 'info', ARGV[5], 'messages', last, 'bytes', string.format('%.0f', bytes))
return 'branched'

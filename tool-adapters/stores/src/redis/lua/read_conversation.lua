-- Reads a conversation at one moment: its hash, and the texts of its messages. KEYS: the hash and the list.
-- ARGV: the first message, the one after the last, and the most bytes that the texts may take.
local head = redis.call('HGETALL', KEYS[1])
local messages = redis.call('HGET', KEYS[1], 'messages')
if not messages then
  return { head, {}, 0 }
end
local first, last, most = tonumber(ARGV[1]), math.min(tonumber(ARGV[2]), tonumber(messages)), tonumber(ARGV[3])
local texts, bytes = {}, 0
for start = first, last - 1, 100 do
  for _, text in ipairs(redis.call('LRANGE', KEYS[2], start, math.min(start + 99, last - 1))) do
    bytes = bytes + #text
    if bytes > most then
      return { head, {}, 1 }
    end
    texts[#texts + 1] = text
  end
end
return { head, texts, 0 }

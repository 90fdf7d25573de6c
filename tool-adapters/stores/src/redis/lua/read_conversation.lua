-- Reads a part of a conversation at one moment: its hash, and the texts of its messages. KEYS: the hash and the list.
-- `first` is the first message, and `stop` the one after the last. The texts end before they take more than `max_bytes`, but
-- there is one at least.
local head = redis.call('HGETALL', KEYS[1])
local messages = redis.call('HGET', KEYS[1], 'messages')
if not messages then
  return { head, {} }
end
local last, most = math.min(tonumber(stop), tonumber(messages)), tonumber(max_bytes)
local texts, bytes, at, step = {}, 0, tonumber(first), 1
while at < last and bytes < most do
  local found = redis.call('LRANGE', KEYS[2], at, math.min(at + step, last) - 1)
  if #found == 0 then
    break
  end
  for _, text in ipairs(found) do
    bytes = bytes + #text
    if bytes > most and #texts > 0 then
      return { head, texts }
    end
    texts[#texts + 1] = text
  end
  at = at + #found
  -- Few at a time, because all of them are copied before their size is known.
  step = math.min(2 * step, 8)
end
return { head, texts }

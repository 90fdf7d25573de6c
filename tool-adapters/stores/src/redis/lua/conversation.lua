-- The beginning of the scripts that change a conversation. A conversation is a hash, and a list with a text for each message.
-- The lists of a principal and of all conversations have the time of the last change as the score.
local HEAD, MESSAGES, OF_PRINCIPAL, OF_ALL = unpack(KEYS)

-- Milliseconds since 1970 by this server's clock.
local function now()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end

-- Marks a conversation as used. `id` and `member` are its names in the two lists.
local function used(head, id, member)
  local time = now()
  redis.call('HSETNX', head, 'created', time)
  redis.call('HSETNX', head, 'info', '{}')
  redis.call('HSETNX', head, 'messages', 0)
  redis.call('HSETNX', head, 'bytes', 0)
  redis.call('HSET', head, 'updated', time)
  redis.call('ZADD', OF_PRINCIPAL, time, id)
  redis.call('ZADD', OF_ALL, time, member)
end

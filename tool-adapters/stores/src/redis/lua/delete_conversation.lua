-- Deletes a conversation. `id` and `member` are its names in the two lists, and `since` is the time since which it must not
-- have been used, or an empty text.
local updated = redis.call('HGET', HEAD, 'updated')
if since ~= '' and updated and tonumber(updated) >= tonumber(since) then
  redis.call('ZADD', OF_ALL, updated, member)
  return 0
end
redis.call('DEL', MESSAGES)
redis.call('ZREM', OF_PRINCIPAL, id)
redis.call('ZREM', OF_ALL, member)
return redis.call('DEL', HEAD)

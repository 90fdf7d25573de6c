-- Deletes a conversation. ARGV: its names in the two lists, and the time since which it must not have been used, or an empty
-- text.
local id, member, since = ARGV[1], ARGV[2], ARGV[3]
local updated = redis.call('HGET', HEAD, 'updated')
if since ~= '' and updated and tonumber(updated) >= tonumber(since) then
  redis.call('ZADD', OF_ALL, updated, member)
  return 0
end
redis.call('DEL', MESSAGES)
redis.call('ZREM', OF_PRINCIPAL, id)
redis.call('ZREM', OF_ALL, member)
return redis.call('DEL', HEAD)

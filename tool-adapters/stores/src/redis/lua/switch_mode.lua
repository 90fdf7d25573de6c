-- Changes the mode of the conversation.
if not is_live(read()) then
  return inactive()
end
redis.call('HSET', SESSION, 'mode', mode)
-- Handles read the mode together with a newer state.
redis.call('HINCRBY', SESSION, 'version', 1)
return used('switched')

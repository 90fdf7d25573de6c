-- Ends the turn, and the session if a tool has asked for that. Answers the pending message, once.
local session = read()
if not is_live(session) then
  return inactive()
end
local ending, message, delivered = unpack(redis.call('HMGET', STATE, 'ending', 'message', 'delivered'))
redis.call('DEL', TURN, YOUNG, OLD)
redis.call('HINCRBY', SESSION, 'turn', 1)
if session.mode == 'text' then
  redis.call('DEL', STATE)
  redis.call('HINCRBY', SESSION, 'version', 1)
elseif delivered and not ending then
  redis.call('HDEL', STATE, 'message', 'delivered')
  redis.call('HINCRBY', SESSION, 'version', 1)
elseif message then
  -- The state shows the message during the turn that begins.
  redis.call('HSET', STATE, 'delivered', 1)
end
if delivered then
  message = false
end
if ending then
  finish()
  return { { 'ended', message or nil }, update() }
end
return used('turn', message or nil)

-- Ends the turn, and the session if a tool has asked for that.
local session = read()
if not is_live(session) then
  return inactive()
end
local ending = redis.call('HGET', STATE, 'ending')
redis.call('DEL', TURN, YOUNG, OLD)
redis.call('HINCRBY', SESSION, 'turn', 1)
if session.mode == 'text' then
  redis.call('DEL', STATE)
  redis.call('HINCRBY', SESSION, 'version', 1)
end
if ending then
  finish()
  return { { 'ended' }, update() }
end
return used('turn')

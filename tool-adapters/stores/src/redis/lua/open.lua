-- Joins the session that is open under this id, or opens one.
-- The caller's incarnation is that of a new session.
local session = read()
if session.is_live then
  -- The principal goes first, so that another one learns nothing else.
  local owner = redis.call('HMGET', SESSION, 'principal', 'agent')
  if owner[1] ~= principal then
    return { { 'principal' }, false }
  end
  if owner[2] ~= agent then
    return { { 'agent' }, false }
  end
  if session.mode ~= mode then
    return { { 'mode', session.mode }, false }
  end
  incarnation = session.incarnation
  return used('joined', session.incarnation)
end
if redis.call('ZCARD', SLOTS) >= tonumber(max_sessions) then
  return { { 'full' }, false }
end
redis.call('ZADD', SLOTS, now() + idle, member)
for _, rule in ipairs({ 'NX', 'GT' }) do
  redis.call('PEXPIRE', SLOTS, string.format('%.0f', idle + KEPT_SLOTS), rule)
end
redis.call('DEL', unpack(SESSION_KEYS))
redis.call('HSET', SESSION, 'incarnation', incarnation, 'principal', principal, 'agent', agent, 'mode', mode, 'tools', tools,
  'idle', idle, 'turn', 0, 'version', 0, 'entries', 0, 'keeps', keeps, 'bytes', 0)
return used('opened', incarnation)

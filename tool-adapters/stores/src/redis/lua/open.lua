-- Joins the session that is open under this id, or opens one if it may: a new one has taken its place before.
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
if may_open ~= '1' then
  return { { 'absent' }, false }
end
redis.call('DEL', unpack(SESSION_KEYS))
redis.call('HSET', SESSION, 'incarnation', incarnation, 'principal', principal, 'agent', agent, 'mode', mode, 'tools', tools,
  'idle', idle, 'turn', 0, 'version', 0, 'keeps', keeps, 'bytes', 0)
return used('opened', incarnation)

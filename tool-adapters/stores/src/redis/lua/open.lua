-- Joins the session that is open under this id, or opens one.
-- ARGV[1]: the incarnation of a new session. ARGV[4..]: principal, agent, mode, version of the tools, idle time, the time for
-- which calls are kept after the end, the number of sessions that may be open, the member of a new session among the slots.
local principal, agent, mode, tools = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local idle, keeps, limit, member = ARGV[8], ARGV[9], tonumber(ARGV[10]), ARGV[11]
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
  INCARNATION = session.incarnation
  return used('joined', session.incarnation)
end
if redis.call('ZCARD', SLOTS) >= limit then
  return { { 'full' }, false }
end
redis.call('ZADD', SLOTS, now() + idle, member)
for _, rule in ipairs({ 'NX', 'GT' }) do
  redis.call('PEXPIRE', SLOTS, string.format('%.0f', idle + KEPT_SLOTS), rule)
end
redis.call('DEL', unpack(SESSION_KEYS))
redis.call('HSET', SESSION, 'incarnation', INCARNATION, 'principal', principal, 'agent', agent, 'mode', mode, 'tools', tools,
  'idle', idle, 'turn', 0, 'version', 0, 'entries', 0, 'keeps', keeps, 'bytes', 0)
return used('opened', INCARNATION)

-- Joins the session that is open under this id. If there is none, opens one if the caller asks for it.
-- ARGV[1]: the incarnation of a new session. ARGV[4..]: mode, version of the tools, idle time, whether to open, the time
-- for which calls are kept after the end.
local mode, tools, idle, may_open, keeps = ARGV[4], ARGV[5], ARGV[6], ARGV[7] == '1', ARGV[8]
local session = read()
if session.is_live then
  if session.mode ~= mode then
    return { { 'mode', session.mode }, false }
  end
  INCARNATION = session.incarnation
  return used('joined', session.incarnation)
end
if not may_open then
  return { { 'absent' }, false }
end
redis.call('DEL', unpack(KEYS))
redis.call('HSET', SESSION, 'incarnation', INCARNATION, 'mode', mode, 'tools', tools, 'idle', idle,
  'turn', 0, 'version', 0, 'entries', 0, 'keeps', keeps, 'bytes', 0)
return used('opened', INCARNATION)

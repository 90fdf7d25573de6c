-- Keeps an answered call, behind the incarnation of its session, and its entry of the log. ARGV[4..]: the call or an empty text,
-- the bytes that all calls of the session may take, and the entry if it has one.
local call, limit = ARGV[4], tonumber(ARGV[5])
local session = read()
if session.incarnation ~= INCARNATION then
  return inactive()
end
if call ~= '' and #call <= limit then
  redis.call('RPUSH', CALLS, INCARNATION .. call)
  local bytes = redis.call('HINCRBY', SESSION, 'bytes', #call)
  while bytes > limit do
    bytes = redis.call('HINCRBY', SESSION, 'bytes', #INCARNATION - #redis.call('LPOP', CALLS))
  end
end
log(6, #ARGV)
-- A call that outlasts its session is kept as long as the others.
if session.ended then
  redis.call('PEXPIRE', CALLS, redis.call('HGET', SESSION, 'keeps'))
  redis.call('PEXPIRE', AUDIT, redis.call('PTTL', SESSION))
  return inactive()
end
return used('kept')

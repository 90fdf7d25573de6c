-- Keeps an answered call, behind the incarnation of its session, and its entry of the log.
local limit = tonumber(max_bytes)
local session = read()
if session.incarnation ~= incarnation then
  return inactive()
end
if call ~= '' and #call <= limit then
  redis.call('RPUSH', CALLS, incarnation .. call)
  local bytes = redis.call('HINCRBY', SESSION, 'bytes', #call)
  while bytes > limit do
    bytes = redis.call('HINCRBY', SESSION, 'bytes', #incarnation - #redis.call('LPOP', CALLS))
  end
end
log(REST, #ARGV)
-- A call that outlasts its session is kept as long as the others.
if session.ended then
  redis.call('PEXPIRE', CALLS, redis.call('HGET', SESSION, 'keeps'))
  redis.call('PEXPIRE', AUDIT, redis.call('PTTL', SESSION))
  return inactive()
end
return used('kept')

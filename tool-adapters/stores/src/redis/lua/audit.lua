-- Reads the log of the caller's session, also of one that has ended.
if read().incarnation ~= incarnation then
  return { {}, false }
end
return { redis.call('LRANGE', AUDIT, 0, -1), update() }

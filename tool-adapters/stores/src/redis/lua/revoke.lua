-- Removes a grant.
if not is_live(read()) then
  return inactive()
end
live_grants(now())
if redis.call('HDEL', GRANTS, id) == 1 then
  return used('revoked')
end
return used('none')

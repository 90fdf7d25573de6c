-- Takes a call that waits for approval, and keeps a grant in its place.
if not is_live(read()) then
  return inactive()
end
local time = now()
if number(redis.call('ZSCORE', WAITING, call)) <= time then
  return used('none')
end
if #live_grants(time) >= tonumber(most) then
  return used('full')
end
forget_call(call)
redis.call('HSET', GRANTS, id, string.format('%.0f', time + tonumber(lifetime)) .. ' ' .. grant)
return used('granted')

-- Reads a call that waits for approval, or takes it.
if not is_live(read()) then
  return inactive()
end
local call = number(redis.call('ZSCORE', WAITING, id)) > now() and redis.call('HGET', PENDING, id)
if take == '1' then
  forget_call(id)
end
if call then
  return used('waits', call)
end
return used('none')

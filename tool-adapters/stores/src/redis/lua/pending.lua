-- Reads a call that waits for approval, or takes it. ARGV[4..]: its id, whether to take it.
local id, take = ARGV[4], ARGV[5] == '1'
if not is_live(read()) then
  return inactive()
end
local call = number(redis.call('ZSCORE', WAITING, id)) > now() and redis.call('HGET', PENDING, id)
if take then
  forget_call(id)
end
if call then
  return used('waits', call)
end
return used('none')

-- Charges a principal for a call. KEYS: the amounts, and the mark of the amount if it has an id.
if is_first(KEYS[2]) then
  add(KEYS[1], 'cost', cost)
  add(KEYS[1], 'time', time)
  redis.call('PEXPIRE', KEYS[1], window, 'NX')
end
return 1

-- Records the end of a call.
local amounts = { cost = cost, time = time }
-- The changes come first, and then the entries of the log.
local first_entry = REST + tonumber(changes)
local session = read()
local charges = spends == '1' and is_first(CHARGED)
if session.incarnation ~= incarnation then
  return inactive()
end
-- A call that outlasts its session changes nothing more, but its entries are logged.
if session.ended then
  log(first_entry, #ARGV)
  redis.call('PEXPIRE', AUDIT, redis.call('PTTL', SESSION))
  return inactive()
end
-- Returns true if the charge is taken back: that of a call which may ask again, with the refund of its last admission.
local function takes_charge_back()
  if repeatable == '' then
    return true
  end
  local field = 'call:' .. repeatable
  return number(redis.call('HGET', TURN, field)) > 0 and redis.call('HINCRBY', TURN, field, -1) == 0
end

if session.turn == turn then
  if refund == '1' and takes_charge_back() then
    for _, counter in ipairs({ 'tool:' .. tool, 'category:' .. category, 'total' }) do
      if number(redis.call('HGET', TURN, counter)) > 0 then
        redis.call('HINCRBY', TURN, counter, -1)
      end
    end
  end
  if empty == '1' then
    redis.call('HINCRBY', TURN, 'empty:' .. tool, 1)
  end
end
if charges then
  for name, amount in pairs(amounts) do
    add(SESSION, name, amount)
    if session.turn == turn then
      add(TURN, name, amount)
    end
  end
end
change(REST, first_entry - 1)
log(first_entry, #ARGV)
return used('settled')

-- Records the end of a call.
-- ARGV[4..]: tool, category, turn, whether to refund the budget, whether the result was empty, the cost, the time, the
-- window of the principal or an empty text if nothing was spent, the part of the cost that the principal pays, the number of
-- arguments of the changes; then the changes, then entries of the log. KEYS[12]: marks the amounts as charged, if they have an
-- id.
local tool, category, turn = ARGV[4], ARGV[5], ARGV[6]
local refund, empty, changes = ARGV[7] == '1', ARGV[8] == '1', tonumber(ARGV[13])
local amounts, window = { cost = ARGV[9], time = ARGV[10] }, ARGV[11]
-- Milliseconds for which the id of an amount is known, so that it is charged once however often it is sent.
local KNOWN_AMOUNTS = 600000
local session = read()
if KEYS[12] then
  if redis.call('HSET', KEYS[12], 'charged', 1) == 0 then
    window = ''
  end
  redis.call('PEXPIRE', KEYS[12], KNOWN_AMOUNTS)
end
-- The principal pays for a call that outlasts its session too.
if window ~= '' then
  add(SPENT, 'cost', ARGV[12])
  add(SPENT, 'time', amounts.time)
  redis.call('PEXPIRE', SPENT, window, 'NX')
end
if session.incarnation ~= INCARNATION then
  return inactive()
end
-- A call that outlasts its session changes nothing more, but its entries are logged.
if session.ended then
  log(14 + changes, #ARGV)
  redis.call('PEXPIRE', AUDIT, redis.call('PTTL', SESSION))
  return inactive()
end
if session.turn == turn then
  if refund then
    for _, counter in ipairs({ 'tool:' .. tool, 'category:' .. category, 'total' }) do
      if number(redis.call('HGET', TURN, counter)) > 0 then
        redis.call('HINCRBY', TURN, counter, -1)
      end
    end
  end
  if empty then
    redis.call('HINCRBY', TURN, 'empty:' .. tool, 1)
  end
end
if window ~= '' then
  for name, amount in pairs(amounts) do
    add(SESSION, name, amount)
    if session.turn == turn then
      add(TURN, name, amount)
    end
  end
end
change(14, 13 + changes)
log(14 + changes, #ARGV)
return used('settled')

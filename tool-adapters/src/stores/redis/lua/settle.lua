-- Records the end of a call.
-- ARGV[4..]: tool, category, turn, whether to refund the budget, whether the result was empty, the cost, the time, the
-- window of the principal or an empty text if nothing was spent, the number of arguments of the changes; then the changes,
-- then entries of the log.
local tool, category, turn = ARGV[4], ARGV[5], ARGV[6]
local refund, empty, changes = ARGV[7] == '1', ARGV[8] == '1', tonumber(ARGV[12])
local amounts, window = { cost = ARGV[9], time = ARGV[10] }, ARGV[11]
local session = read()
-- The principal pays for a call that outlasts its session too.
if window ~= '' then
  for name, amount in pairs(amounts) do
    add(SPENT, name, amount)
  end
  redis.call('PEXPIRE', SPENT, window, 'NX')
end
if session.incarnation ~= INCARNATION then
  return inactive()
end
-- A call that outlasts its session changes nothing more, but its entries are logged.
if session.ended then
  log(13 + changes, #ARGV)
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
change(13, 12 + changes)
log(13 + changes, #ARGV)
return used('settled')

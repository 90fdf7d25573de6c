-- Records the end of a call.
-- ARGV[4..]: tool, category, turn, whether to refund the budget, whether the result was empty, the number of arguments
-- of the changes; then the changes, then entries of the log.
local tool, category, turn = ARGV[4], ARGV[5], ARGV[6]
local refund, empty, changes = ARGV[7] == '1', ARGV[8] == '1', tonumber(ARGV[9])
local session = read()
if session.incarnation ~= INCARNATION then
  return inactive()
end
-- A call that outlasts its session changes nothing more, but its entries are logged.
if session.ended then
  log(10 + changes, #ARGV)
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
change(10, 9 + changes)
log(10 + changes, #ARGV)
return used('settled')

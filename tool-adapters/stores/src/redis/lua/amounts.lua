-- The beginning of the scripts that charge amounts.

-- Milliseconds for which the id of an amount is known, so that it is charged once however often it is sent.
local KNOWN_AMOUNTS = 600000

-- Adds an amount to a sum, which stays below the greatest integer of the server.
local function add(key, field, amount)
  if (tonumber(redis.call('HGET', key, field)) or 0) + (tonumber(amount) or 0) < 9e18 then
    redis.call('HINCRBY', key, field, amount)
  else
    redis.call('HSET', key, field, '9000000000000000000')
  end
end

-- Returns true if an amount is charged now for the first time. One without a mark is.
local function is_first(mark)
  if not mark then
    return true
  end
  local is_new = redis.call('HSET', mark, 'charged', 1) == 1
  redis.call('PEXPIRE', mark, KNOWN_AMOUNTS)
  return is_new
end

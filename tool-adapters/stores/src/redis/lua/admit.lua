-- Counts an attempt, checks it against the limits, and charges it.
-- ARGV[4..]: charge, tool, category, digest of the arguments, and the limits, each a number or an empty text:
-- repeated, empty, calls of the tool, calls of the category, calls in all. ARGV[13]: whether there are caps; then those on the
-- cost of the turn, the session and the principal, and those on their time.
local charge, tool, category, attempt = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local repeated, empty = tonumber(ARGV[8]), tonumber(ARGV[9])

-- Of a turn with very many different attempts, the latest are kept: new ones are counted in `young`, which becomes `old`
-- when it is full.
local function count_attempt()
  if redis.call('HLEN', YOUNG) >= KEPT_ATTEMPTS then
    redis.call('RENAME', YOUNG, OLD)
  end
  if redis.call('HEXISTS', YOUNG, attempt) == 0 then
    redis.call('HSET', YOUNG, attempt, number(redis.call('HGET', OLD, attempt)))
  end
  return redis.call('HINCRBY', YOUNG, attempt, 1)
end

if not is_live(read()) then
  return inactive()
end
if charge == 'free' then
  return used('admitted')
end
if charge ~= 'approved' then
  local attempts = count_attempt()
  if repeated and attempts >= math.max(repeated, 1) then
    return used('repeated', attempts)
  end
  local empties = number(redis.call('HGET', TURN, 'empty:' .. tool))
  if empty and empties >= math.max(empty, 1) then
    return used('empty', empties)
  end
end
if charge == 'attempt' then
  return used('admitted')
end
-- The narrowest budget first.
local counters = { 'tool:' .. tool, 'category:' .. category, 'total' }
local calls = redis.call('HMGET', TURN, unpack(counters))
for at, name in ipairs({ 'tool', 'category', 'total' }) do
  local limit = tonumber(ARGV[9 + at])
  if limit and number(calls[at]) >= limit then
    return used(name, number(calls[at]), limit)
  end
end
local left, principal_cost = { cost = '', time = '' }, ''
if ARGV[13] == '1' then
  for at, scope in ipairs({ { 'turn', TURN }, { 'session', SESSION }, { 'principal', SPENT } }) do
    for kind, name in ipairs({ 'cost', 'time' }) do
      local cap, sum = ARGV[13 + at + (kind - 1) * 3], redis.call('HGET', scope[2], name) or '0'
      if cap ~= '' then
        local rest = number(cap) - number(sum)
        if rest <= 0 then
          return used('cap', scope[1], name, sum, cap, tostring(redis.call('PTTL', SPENT)))
        end
        if left[name] == '' or rest < number(left[name]) then
          left[name] = string.format('%.0f', rest)
        end
        if scope[1] == 'principal' and name == 'cost' then
          principal_cost = string.format('%.0f', rest)
        end
      end
    end
  end
end
if charge == 'run' or charge == 'approved' then
  for _, counter in ipairs(counters) do
    redis.call('HINCRBY', TURN, counter, 1)
  end
end
if ARGV[13] == '1' then
  return used('capped', left.cost, left.time, principal_cost)
end
return used('admitted')

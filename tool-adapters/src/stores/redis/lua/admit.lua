-- Counts an attempt, checks it against the limits, and charges it.
-- ARGV[4..]: charge, tool, category, digest of the arguments, and the limits, each a number or an empty text:
-- repeated, empty, calls of the tool, calls of the category, calls in all.
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
if charge == 'run' or charge == 'approved' then
  for _, counter in ipairs(counters) do
    redis.call('HINCRBY', TURN, counter, 1)
  end
end
return used('admitted')

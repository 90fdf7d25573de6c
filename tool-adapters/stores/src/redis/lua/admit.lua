-- Counts an attempt, checks it against the limits, and charges it.
local repeated, empty = tonumber(max_repeated), tonumber(max_empty)
-- A call that may ask again: the field is there once its attempt was counted, and has the admissions for which it is charged.
local field = repeatable ~= '' and 'call:' .. repeatable
local counted = field and redis.call('HGET', TURN, field)
local charged = number(counted) > 0

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
if charge ~= 'approved' and not counted then
  local attempts = count_attempt()
  if repeated and attempts >= math.max(repeated, 1) then
    return used('repeated', attempts)
  end
  local empties = number(redis.call('HGET', TURN, 'empty:' .. tool))
  if empty and empties >= math.max(empty, 1) then
    return used('empty', empties)
  end
  if field then
    redis.call('HSET', TURN, field, 0)
  end
end
if charge == 'attempt' then
  return used('admitted')
end
-- The narrowest budget first.
local budgets = {
  { name = 'tool', counter = 'tool:' .. tool, limit = max_of_tool },
  { name = 'category', counter = 'category:' .. category, limit = max_of_category },
  { name = 'total', counter = 'total', limit = max_calls },
}
local calls = redis.call('HMGET', TURN, budgets[1].counter, budgets[2].counter, budgets[3].counter)
for at, budget in ipairs(budgets) do
  local limit = tonumber(budget.limit)
  if limit and not charged and number(calls[at]) >= limit then
    return used(budget.name, number(calls[at]), limit)
  end
end
local left, left_of_principal = { cost = '', time = '' }, ''
if has_caps == '1' then
  local scopes = {
    { name = 'turn', key = TURN, cost = turn_cost, time = turn_time },
    { name = 'session', key = SESSION, cost = session_cost, time = session_time },
    -- Another server may have what the principal has spent, so that the caller has read it.
    { name = 'principal', spent = { cost = spent_cost, time = spent_time }, cost = principal_cost, time = principal_time },
  }
  for _, scope in ipairs(scopes) do
    for _, kind in ipairs({ 'cost', 'time' }) do
      local cap = scope[kind]
      local sum = scope.spent and scope.spent[kind] or redis.call('HGET', scope.key, kind) or '0'
      if cap ~= '' then
        local rest = number(cap) - number(sum)
        if rest <= 0 then
          return used('cap', scope.name, kind, sum, cap, spent_window)
        end
        if left[kind] == '' or rest < number(left[kind]) then
          left[kind] = string.format('%.0f', rest)
        end
        if scope.name == 'principal' and kind == 'cost' then
          left_of_principal = string.format('%.0f', rest)
        end
      end
    end
  end
end
if charge == 'run' or charge == 'approved' then
  if not charged then
    for _, budget in ipairs(budgets) do
      redis.call('HINCRBY', TURN, budget.counter, 1)
    end
  end
  if field then
    redis.call('HINCRBY', TURN, field, 1)
  end
end
if has_caps == '1' then
  return used('capped', left.cost, left.time, left_of_principal)
end
return used('admitted')

-- The beginning of every script of a session: functions that several scripts use. The names of keys and arguments come before
-- it, from `scripts.rs`.
--
-- A script returns {answer, update}: an array whose first member is the decision, and the changes of the session that
-- the caller does not have yet, or false if the session does not exist.
--
-- Values of the state and entries of the log are JSON texts that no script parses, because Lua would
-- round their numbers.
local KEPT_ENTRIES, KEPT_ATTEMPTS = 1000, 1024
-- Milliseconds for which an ended session is kept, so that other processes can read that it ended.
local REMEMBERED = 60000

local function number(text)
  return tonumber(text) or 0
end

-- Milliseconds since 1970 by this server's clock. No other clock is used.
local function now()
  local time = redis.call('TIME')
  return number(time[1]) * 1000 + math.floor(number(time[2]) / 1000)
end

local function read()
  local at = redis.call('HMGET', SESSION, 'incarnation', 'ended', 'turn', 'version', 'idle', 'mode')
  return {
    incarnation = at[1], ended = at[2], turn = at[3], version = at[4], idle = at[5], mode = at[6],
    is_live = at[1] and not at[2],
  }
end

-- Makes the keys expire after the session's idle time, and its calls later.
local function touch()
  local times = redis.call('HMGET', SESSION, 'idle', 'keeps')
  for _, key in ipairs(SESSION_KEYS) do
    redis.call('PEXPIRE', key, times[1])
  end
  redis.call('PEXPIRE', CALLS, string.format('%.0f', number(times[1]) + number(times[2])))
end

-- Returns {turn, ended, version of the state, the state or false, mode}.
local function update()
  local session = read()
  if session.incarnation ~= incarnation then
    return false
  end
  local state = session.version ~= known_state and redis.call('HGETALL', STATE)
  return { session.turn, session.ended or '0', session.version, state, session.mode }
end

local function used(...)
  touch()
  return { { ... }, update() }
end

local function inactive()
  return { { 'inactive' }, update() }
end

local function is_live(session)
  return session.is_live and session.incarnation == incarnation
end

-- Applies changes, which are pairs: a field, and `=` with its value, or an empty text to remove the field.
local function change(first, last)
  for at = first, last, 2 do
    local field, to = ARGV[at], ARGV[at + 1]
    if to == '' then
      redis.call('HDEL', STATE, field)
    else
      redis.call('HSET', STATE, field, string.sub(to, 2))
    end
    -- A message that is set again is delivered again, even with the same text.
    if field == 'message' then
      redis.call('HDEL', STATE, 'delivered')
    end
  end
  if last > first then
    redis.call('HINCRBY', SESSION, 'version', 1)
  end
end

-- The field of PENDING that has the turn and the bytes of a call which waits for approval.
local function sizes(id)
  return 'sizes:' .. id
end

-- Removes a call that waits for approval.
local function forget_call(id)
  redis.call('ZREM', WAITING, id)
  redis.call('HDEL', PENDING, id, sizes(id))
end

-- Returns the grants that have not ended, and removes the others. A grant stands behind its end and a space.
local function live_grants(time)
  local kept, live = redis.call('HGETALL', GRANTS), {}
  for at = 1, #kept, 2 do
    local ends, grant = string.match(kept[at + 1], '^(%d+) (.*)$')
    if number(ends) > time then
      live[#live + 1] = grant
    else
      redis.call('HDEL', GRANTS, kept[at])
    end
  end
  return live
end

local function log(first, last)
  for at = first, last do
    redis.call('RPUSH', AUDIT, ARGV[at])
  end
  redis.call('LTRIM', AUDIT, -KEPT_ENTRIES, -1)
end

local function finish()
  redis.call('HSET', SESSION, 'ended', 1)
  redis.call('HINCRBY', SESSION, 'version', 1)
  redis.call('DEL', TURN, PENDING, WAITING, YOUNG, OLD, GRANTS)
  for _, key in ipairs({ SESSION, STATE, AUDIT }) do
    redis.call('PEXPIRE', key, REMEMBERED)
  end
  redis.call('PEXPIRE', CALLS, redis.call('HGET', SESSION, 'keeps'))
end

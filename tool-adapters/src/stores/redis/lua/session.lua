-- What every script of a session begins with: the names of its keys, and what several scripts do.
--
-- A script answers {answer, news}: an array whose first member says what was decided, and what the caller does not know
-- yet of the session, or false where there is no such session.
--
-- Values of the state and entries of the log are JSON texts that no script looks into: Lua would round their numbers.
local SESSION, TURN, STATE, AUDIT, PENDING, WAITING, YOUNG, OLD = unpack(KEYS)
-- Who asks: which session of this id, and how much of its state and of its log is known there.
local INCARNATION, KNOWN_STATE, KNOWN_ENTRIES = ARGV[1], ARGV[2], tonumber(ARGV[3])
local KEPT_ENTRIES, KEPT_CALLS, KEPT_ATTEMPTS = 1000, 256, 1024
-- An ended session is kept this long, so that other processes can read how it ended.
local REMEMBERED = 60000

local function number(text)
  return tonumber(text) or 0
end

-- Milliseconds since 1970 by this server's clock, the only one that counts.
local function now()
  local time = redis.call('TIME')
  return number(time[1]) * 1000 + math.floor(number(time[2]) / 1000)
end

local function read()
  local at = redis.call('HMGET', SESSION, 'incarnation', 'ended', 'turn', 'version', 'entries', 'idle', 'mode')
  return {
    incarnation = at[1], ended = at[2], turn = at[3], version = at[4], entries = at[5], idle = at[6], mode = at[7],
    is_live = at[1] and not at[2],
  }
end

-- Whatever was used lives on for as long as the session may be idle.
local function touch()
  local idle = redis.call('HGET', SESSION, 'idle')
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, idle)
  end
end

local function unseen_entries(entries)
  local unseen = number(entries) - KNOWN_ENTRIES
  if unseen <= 0 then
    return false
  end
  return redis.call('LRANGE', AUDIT, -unseen, -1)
end

-- {turn, ended, version of the state, the state or false, number of entries, those not seen or false}
local function news()
  local session = read()
  if session.incarnation ~= INCARNATION then
    return false
  end
  local state = session.version ~= KNOWN_STATE and redis.call('HGETALL', STATE)
  return {
    session.turn, session.ended or '0', session.version, state, session.entries, unseen_entries(session.entries),
  }
end

local function used(...)
  touch()
  return { { ... }, news() }
end

local function inactive()
  return { { 'inactive' }, news() }
end

local function is_live(session)
  return session.is_live and session.incarnation == INCARNATION
end

-- Changes follow one another as pairs: a field, and `=` with its value, or nothing where the field goes.
local function change(first, last)
  for at = first, last, 2 do
    local field, to = ARGV[at], ARGV[at + 1]
    if to == '' then
      redis.call('HDEL', STATE, field)
    else
      redis.call('HSET', STATE, field, string.sub(to, 2))
    end
  end
  if last > first then
    redis.call('HINCRBY', SESSION, 'version', 1)
  end
end

local function log(first, last)
  for at = first, last do
    redis.call('RPUSH', AUDIT, ARGV[at])
    redis.call('HINCRBY', SESSION, 'entries', 1)
  end
  redis.call('LTRIM', AUDIT, -KEPT_ENTRIES, -1)
end

local function finish()
  redis.call('HSET', SESSION, 'ended', 1)
  redis.call('HINCRBY', SESSION, 'version', 1)
  redis.call('DEL', TURN, PENDING, WAITING, YOUNG, OLD)
  for _, key in ipairs({ SESSION, STATE, AUDIT }) do
    redis.call('PEXPIRE', key, REMEMBERED)
  end
end

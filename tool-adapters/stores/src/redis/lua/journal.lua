-- The beginning of every script of the journal.
-- KEYS: the calls of a session, and their ids by number. The caller looks whether the process of a call lives.
--
-- A field of a call is the name of a value and the call's id. Entries and responses are JSON texts that no script parses.
local CALLS, ORDER = unpack(KEYS)
local VALUES = { 'entry:', 'response:', 'process:', 'number:', 'until:', 'approval:' }

-- Microseconds since 1970 by this server's clock.
local function microseconds()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function milliseconds()
  return math.floor(microseconds() / 1000)
end

local function whole(number)
  return string.format('%.0f', number)
end

-- Returns a call, or nil. Its number distinguishes it from others with its id.
local function call_of(id)
  local found = redis.call('HMGET', CALLS, 'entry:' .. id, 'response:' .. id, 'process:' .. id, 'number:' .. id, 'until:' .. id)
  if not found[1] then
    return nil
  end
  return { entry = found[1], response = found[2], process = found[3], number = found[4], runs_until = found[5] }
end

-- Returns another process's call: entry, response or false, number, and the process that runs it if it still lives, or false.
local function other(call)
  local may_run = not call.response and tonumber(call.runs_until) > milliseconds()
  return { call.entry, call.response or false, call.number, may_run and call.process or false }
end

local function remove(id)
  redis.call('ZREM', ORDER, id)
  for _, value in ipairs(VALUES) do
    redis.call('HDEL', CALLS, value .. id)
  end
end

-- The beginning of every script of the journal.
-- KEYS: the calls of a session, their ids by number, and the processes with the times until which they live.
--
-- A field of a call is the name of a value and the call's id. Entries and responses are JSON texts that no script parses.
local CALLS, ORDER, PROCESSES = unpack(KEYS)
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

local function is_running(call)
  local now = milliseconds()
  local alive_until = redis.call('HGET', PROCESSES, call.process)
  return not call.response and tonumber(call.runs_until) > now and tonumber(alive_until or '0') > now
end

-- Returns what another process's call is to one with its id.
local function other(call)
  if is_running(call) then
    return { 'running' }
  end
  return { 'known', call.entry, call.response or false, call.number }
end

local function remove(id)
  redis.call('ZREM', ORDER, id)
  for _, value in ipairs(VALUES) do
    redis.call('HDEL', CALLS, value .. id)
  end
end

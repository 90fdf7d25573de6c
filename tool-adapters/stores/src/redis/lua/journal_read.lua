-- Returns the calls of other processes that are not running, in their order: entry, response or false, and number of each.
local found = {}
for _, id in ipairs(redis.call('ZRANGE', ORDER, 0, -1)) do
  local call = call_of(id)
  if call and call.process ~= process and not is_running(call) then
    found[#found + 1] = { call.entry, call.response or false, call.number }
  end
end
return found

-- Returns the calls of other processes, in their order.
local found = {}
for _, id in ipairs(redis.call('ZRANGE', ORDER, 0, -1)) do
  local call = call_of(id)
  if call and call.process ~= process then
    found[#found + 1] = other(call)
  end
end
return found

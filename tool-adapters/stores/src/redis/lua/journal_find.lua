-- Returns another process's call of this id, or false.
local known = call_of(id)
if not known or known.process == process then
  return false
end
return other(known)

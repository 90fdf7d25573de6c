-- Returns what another process's call is to one with its id, as `journal_start.lua` does, or false.
local known = call_of(id)
if not known or known.process == process then
  return false
end
return other(known)

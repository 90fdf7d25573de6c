-- Reads the changes that the caller does not have yet.
if is_live(read()) then
  return { { 'read' }, update() }
end
return inactive()

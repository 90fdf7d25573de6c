-- Reads what is not known yet.
if is_live(read()) then
  return { { 'read' }, news() }
end
return inactive()

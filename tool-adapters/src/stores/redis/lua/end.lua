-- Ends the session.
if is_live(read()) then
  finish()
  return { { 'ended' }, news() }
end
return inactive()

-- Ends the session.
if is_live(read()) then
  finish()
  return { { 'ended' }, update() }
end
return inactive()

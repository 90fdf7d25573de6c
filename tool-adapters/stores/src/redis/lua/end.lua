-- Ends the session.
if is_live(read()) then
  finish(member)
  return { { 'ended' }, update() }
end
return inactive()

-- Ends the session. ARGV[4]: its member among the slots.
if is_live(read()) then
  finish(ARGV[4])
  return { { 'ended' }, update() }
end
return inactive()

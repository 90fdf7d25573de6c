-- Changes the state for the host. ARGV[4..]: the changes.
if not is_live(read()) then
  return inactive()
end
change(4, #ARGV)
return used('changed')

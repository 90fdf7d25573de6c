-- Changes the state for the host.
if not is_live(read()) then
  return inactive()
end
change(REST, #ARGV)
return used('changed')

-- Reads the grants that have not ended.
if not is_live(read()) then
  return inactive()
end
return used('grants', unpack(live_grants(now())))

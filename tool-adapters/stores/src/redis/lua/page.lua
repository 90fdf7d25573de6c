-- Returns a page of a principal's conversations, the last used first: ids. KEYS: the list.
-- `most` is the most ids. The page begins after `time` and `id`, or with the first one if they are empty.
local most_time = time == '' and '+inf' or time

local page, offset = {}, 0
while #page < tonumber(most) do
  local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], most_time, '-inf', 'WITHSCORES', 'LIMIT', offset, 200)
  if #found == 0 then
    break
  end
  for at = 1, #found, 2 do
    local is_later = time == '' or tonumber(found[at + 1]) < tonumber(time) or comes_before(found[at], id)
    if is_later and #page < tonumber(most) then
      page[#page + 1] = found[at]
    end
  end
  offset = offset + #found / 2
end
return page

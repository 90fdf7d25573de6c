-- Returns a page of a principal's conversations, the last used first: ids. KEYS: the list.
-- ARGV: the most ids; and of the page's beginning, a time and an id, or empty texts.
local most, time, id = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local most_time = time == '' and '+inf' or time

-- Compares bytes, which the operators of this language do not.
local function comes_after(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end

local page, offset = {}, 0
while #page < most do
  local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], most_time, '-inf', 'WITHSCORES', 'LIMIT', offset, 200)
  if #found == 0 then
    break
  end
  for at = 1, #found, 2 do
    local is_later = time == '' or tonumber(found[at + 1]) < tonumber(time) or comes_after(found[at], id)
    if is_later and #page < most then
      page[#page + 1] = found[at]
    end
  end
  offset = offset + #found / 2
end
return page

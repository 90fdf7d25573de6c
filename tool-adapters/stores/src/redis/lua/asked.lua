-- Returns a page of a principal's calls that wait for approval: members and the times at which the calls expire, which are
-- scores. KEYS: the list. `most` is the most members. The page begins after `after_time` and `after_id`, or with the first
-- one if they are empty. A member begins with the id of its call.
local IDS = 32
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- Some at a time, so that no call of the script is long.
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1000)) do
  redis.call('ZREM', KEYS[1], expired)
end

local first = '(' .. string.format('%.0f', now)
if after_time ~= '' and tonumber(after_time) > now then
  first = after_time
end
local page, offset = {}, 0
while #page < 2 * tonumber(most) do
  local found = redis.call('ZRANGEBYSCORE', KEYS[1], first, '+inf', 'WITHSCORES', 'LIMIT', offset, 200)
  if #found == 0 then
    break
  end
  for at = 1, #found, 2 do
    local is_later = after_time == '' or tonumber(found[at + 1]) > tonumber(after_time)
      or comes_before(after_id, string.sub(found[at], 1, IDS))
    if is_later and #page < 2 * tonumber(most) then
      page[#page + 1] = found[at]
      page[#page + 1] = found[at + 1]
    end
  end
  offset = offset + #found / 2
end
return page

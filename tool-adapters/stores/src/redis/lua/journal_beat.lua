-- Notes that a process lives, and forgets those that have not for a day.
local now = milliseconds()
redis.call('HSET', PROCESSES, process, whole(now + tonumber(lease)))
local processes = redis.call('HGETALL', PROCESSES)
for at = 1, #processes, 2 do
  if tonumber(processes[at + 1]) < now - 86400000 then
    redis.call('HDEL', PROCESSES, processes[at])
  end
end
return 1

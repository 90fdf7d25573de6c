-- Records the end of a call that this process has started.
if redis.call('HGET', CALLS, 'process:' .. id) == process then
  redis.call('HSET', CALLS, 'response:' .. id, response)
end
return 1

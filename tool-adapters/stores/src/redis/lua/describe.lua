-- Replaces the info. `id` and `member` are the names in the two lists.
used(HEAD, id, member)
redis.call('HSET', HEAD, 'info', info)
return 1

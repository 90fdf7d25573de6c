-- Replaces the info. ARGV: the names in the two lists, the info.
used(HEAD, ARGV[1], ARGV[2])
redis.call('HSET', HEAD, 'info', ARGV[3])
return 1

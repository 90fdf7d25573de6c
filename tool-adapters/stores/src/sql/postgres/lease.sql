UPDATE tool_agent_records SET lease_holder = $3, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE agent_id = $1 AND tool = $2
    AND (lease_holder IS NULL OR lease_holder = $3 OR lease_until <= clock_timestamp())
RETURNING 1

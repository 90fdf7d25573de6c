UPDATE tool_agent_records SET lease_holder = NULL, lease_until = NULL
WHERE agent_id = $1 AND tool = $2 AND lease_holder = $3
RETURNING 1

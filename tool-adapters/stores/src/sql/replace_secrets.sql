UPDATE tool_agent_records SET secrets_key = $5, secrets = $6, quiet = quiet + 1
WHERE agent_id = $1 AND tool = $2 AND secrets_key = $3 AND secrets = $4
RETURNING 1

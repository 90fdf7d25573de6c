INSERT INTO tool_agent_records (agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets)
SELECT $1, $2, $3, $4::json, $5::json, $6, $7
WHERE NOT EXISTS (SELECT 1 FROM tool_agent_records WHERE agent_id = $1 AND tool = $2)
RETURNING version

INSERT INTO tool_agent_records (agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version)
SELECT $1, $2, $3, $4, $5, $6, $7, 1 + coalesce((SELECT version FROM tool_agents WHERE agent_id = $1), 0)
WHERE NOT EXISTS (SELECT 1 FROM tool_agent_records WHERE agent_id = $1 AND tool = $2)
RETURNING version

SELECT tool, enabled, CAST(disabled_actions AS text), CAST(config AS text), secrets_key, secrets, version
FROM tool_agent_records
WHERE agent_id = $1 AND tool = $2

SELECT tool, enabled, CAST(disabled_actions AS text), CAST(config AS text), secrets_key, secrets,
    tool_agent_records.version, tool_agents.version
FROM tool_agents LEFT JOIN tool_agent_records USING (agent_id)
WHERE agent_id = $1
ORDER BY tool

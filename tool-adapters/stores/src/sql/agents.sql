SELECT agent_id, tool_agents.version, count(*)
FROM tool_agents JOIN tool_agent_records USING (agent_id)
WHERE CAST($1 AS text) IS NULL OR agent_id > $1
GROUP BY agent_id ORDER BY agent_id LIMIT $2

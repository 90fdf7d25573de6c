SELECT agent_id, tool, secrets_key, secrets FROM tool_agent_records
WHERE secrets_key <> $1 AND (CAST($2 AS text) IS NULL OR (agent_id, tool) > ($2, $3))
ORDER BY agent_id, tool LIMIT $4

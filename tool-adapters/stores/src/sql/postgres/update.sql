UPDATE tool_agent_records SET enabled = $3, disabled_actions = $4::json, config = $5::json,
    secrets_key = CASE WHEN $9 THEN secrets_key ELSE $6 END, secrets = CASE WHEN $9 THEN secrets ELSE $7 END
WHERE agent_id = $1 AND tool = $2 AND version = $8
RETURNING version

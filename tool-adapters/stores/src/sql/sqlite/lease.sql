WITH clock (now) AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
UPDATE tool_agent_records SET lease_holder = $3, lease_until = $4 + (SELECT now FROM clock)
WHERE agent_id = $1 AND tool = $2
    AND (lease_holder IS NULL OR lease_holder = $3 OR lease_until <= (SELECT now FROM clock))
RETURNING 1

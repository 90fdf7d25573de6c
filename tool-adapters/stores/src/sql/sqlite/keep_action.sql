INSERT INTO tool_agent_actions (agent_id, id, action, bytes, expires_at)
SELECT $1, $2, $3, $4, clock.now + $5 FROM tool_clock AS clock, (
    SELECT count(*) AS actions, coalesce(sum(bytes), 0) AS bytes FROM tool_agent_actions, tool_clock
    WHERE agent_id = $1 AND expires_at > now
) AS waiting
WHERE waiting.actions < $6 AND waiting.bytes + $4 <= $7
RETURNING 1

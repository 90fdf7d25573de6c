-- The actions of agents that wait for a person's approval.

-- Milliseconds since 1970.
CREATE VIEW tool_clock AS SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now;

CREATE TABLE tool_agent_actions (
    agent_id text COLLATE "C" NOT NULL,
    -- The id of the call.
    id text COLLATE "C" NOT NULL,
    -- A JSON object.
    action text NOT NULL,
    -- The bytes of the call, which the agent's actions share.
    bytes bigint NOT NULL,
    -- Milliseconds since 1970.
    expires_at bigint NOT NULL,
    PRIMARY KEY (agent_id, id)
);

CREATE INDEX tool_agent_actions_by_expiry ON tool_agent_actions (expires_at);

-- Keeps an action if the agent's others leave room. Actions of one agent are counted one after the other: a statement sees
-- what was committed before it began, and the lock is held before the second statement begins.
CREATE FUNCTION tool_keep_action(
    of_agent text, new_id text, new_action text, new_bytes bigint, lifetime bigint, most_actions bigint, most_bytes bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    kept bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('tool_agent_actions ' || of_agent, 0));
    INSERT INTO tool_agent_actions (agent_id, id, action, bytes, expires_at)
        SELECT of_agent, new_id, new_action, new_bytes, clock.now + lifetime FROM tool_clock AS clock, (
            SELECT count(*) AS actions, coalesce(sum(bytes), 0) AS bytes FROM tool_agent_actions, tool_clock
            WHERE agent_id = of_agent AND expires_at > now
        ) AS waiting
        WHERE waiting.actions < most_actions AND waiting.bytes + new_bytes <= most_bytes;
    GET DIAGNOSTICS kept = ROW_COUNT;
    RETURN kept > 0;
END
$$;

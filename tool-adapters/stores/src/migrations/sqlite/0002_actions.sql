-- The actions of agents that wait for a person's approval.

-- Milliseconds since 1970, in a form that all versions of SQLite have.
CREATE VIEW tool_clock AS SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now;

CREATE TABLE tool_agent_actions (
    agent_id TEXT NOT NULL,
    -- The id of the call.
    id TEXT NOT NULL,
    -- A JSON object.
    action TEXT NOT NULL,
    -- The bytes of the call, which the agent's actions share.
    bytes INTEGER NOT NULL,
    -- Milliseconds since 1970.
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_agent_actions_by_expiry ON tool_agent_actions (expires_at);

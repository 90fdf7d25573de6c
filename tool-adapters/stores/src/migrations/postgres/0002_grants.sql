-- Grants of people, and the list of the calls of a principal that wait for one.

-- The approvals of calls that are not made yet. Each is a JSON object.
CREATE TABLE tool_session_grants (
    session text COLLATE "C" NOT NULL REFERENCES tool_sessions (id) ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL,
    granted text NOT NULL,
    ends_at bigint NOT NULL,
    PRIMARY KEY (session, id)
);

-- The principal of the session.
ALTER TABLE tool_session_approvals ADD COLUMN principal text COLLATE "C" NOT NULL DEFAULT '';

UPDATE tool_session_approvals AS waiting
    SET principal = (SELECT principal FROM tool_sessions AS session WHERE session.id = waiting.session);

-- The beginning of the principal, because an index takes no long text.
CREATE INDEX tool_session_approvals_by_principal ON tool_session_approvals (substr(principal, 1, 200), expires_at, id);

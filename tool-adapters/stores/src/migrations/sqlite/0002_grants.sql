-- Grants of people, and the list of the calls of a principal that wait for one.

-- The approvals of calls that are not made yet. Each is a JSON object.
CREATE TABLE tool_session_grants (
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    granted TEXT NOT NULL,
    ends_at INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tool_sessions_deleted_with_grants AFTER DELETE ON tool_sessions
BEGIN
    DELETE FROM tool_session_grants WHERE session = OLD.id;
END;

-- The principal of the session.
ALTER TABLE tool_session_approvals ADD COLUMN principal TEXT NOT NULL DEFAULT '';

UPDATE tool_session_approvals
    SET principal = coalesce((SELECT principal FROM tool_sessions WHERE tool_sessions.id = tool_session_approvals.session), '');

-- The beginning of the principal, as in other databases, whose indexes take no long text.
CREATE INDEX tool_session_approvals_by_principal ON tool_session_approvals (substr(principal, 1, 200), expires_at, id);

-- Sessions: who may join them, what they have used, and what waits for a person.

-- Milliseconds since 1970, in a form that all versions of SQLite have.
CREATE VIEW tool_session_clock AS SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now;

-- Times are milliseconds. In an id or a principal, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_sessions (
    id TEXT NOT NULL PRIMARY KEY,
    -- Distinguishes the session from earlier ones of its id.
    incarnation TEXT NOT NULL,
    principal TEXT NOT NULL,
    -- A JSON object.
    session TEXT NOT NULL,
    -- The entries that the audit log has had, the calls that were kept, and the bytes of those that still are.
    entries INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    call_bytes INTEGER NOT NULL,
    idle_time INTEGER NOT NULL,
    keep_time INTEGER NOT NULL,
    -- 0 once the session has ended.
    expires_at INTEGER NOT NULL,
    -- The end of the time for which its calls can be read.
    calls_until INTEGER NOT NULL
) STRICT;

CREATE INDEX tool_sessions_by_expiry ON tool_sessions (expires_at);
CREATE INDEX tool_sessions_by_end ON tool_sessions (calls_until);

-- The audit log. Each entry is a JSON object.
CREATE TABLE tool_session_entries (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- The answered calls. Each is a JSON object.
CREATE TABLE tool_session_calls (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    call TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- The calls that wait for a person. Each is a JSON object.
CREATE TABLE tool_session_approvals (
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    call TEXT NOT NULL,
    turn INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

-- A trigger, because a program's own connections may not check foreign keys.
CREATE TRIGGER tool_sessions_deleted AFTER DELETE ON tool_sessions
BEGIN
    DELETE FROM tool_session_entries WHERE session = OLD.id;
    DELETE FROM tool_session_calls WHERE session = OLD.id;
    DELETE FROM tool_session_approvals WHERE session = OLD.id;
END;

-- What principals have spent under caps: picodollars and microseconds.
CREATE TABLE tool_principal_spending (
    principal TEXT NOT NULL PRIMARY KEY,
    cost INTEGER NOT NULL,
    time INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_principal_spending_by_end ON tool_principal_spending (ends_at);

-- The amounts that were added, so that one which is sent again is added once.
CREATE TABLE tool_added_amounts (
    id TEXT NOT NULL PRIMARY KEY,
    known_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tool_added_amounts_by_end ON tool_added_amounts (known_until);

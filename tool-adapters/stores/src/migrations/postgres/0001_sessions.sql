-- Sessions: who may join them, what they have used, and what waits for a person.

-- Milliseconds since 1970.
CREATE VIEW tool_session_clock AS SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now;

-- Times are milliseconds. In an id or a principal, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_sessions (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    -- Distinguishes the session from earlier ones of its id.
    incarnation text NOT NULL,
    principal text NOT NULL,
    -- A JSON object.
    session text NOT NULL,
    -- The entries that the audit log has had, the calls that were kept, and the bytes of those that still are.
    entries bigint NOT NULL,
    calls bigint NOT NULL,
    call_bytes bigint NOT NULL,
    idle_time bigint NOT NULL,
    keep_time bigint NOT NULL,
    -- 0 once the session has ended.
    expires_at bigint NOT NULL,
    -- The end of the time for which its calls can be read.
    calls_until bigint NOT NULL
);

CREATE INDEX tool_sessions_by_expiry ON tool_sessions (expires_at);
CREATE INDEX tool_sessions_by_end ON tool_sessions (calls_until);

-- The audit log. Each entry is a JSON object.
CREATE TABLE tool_session_entries (
    session text COLLATE "C" NOT NULL REFERENCES tool_sessions (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (session, number)
);

-- The answered calls. Each is a JSON object.
CREATE TABLE tool_session_calls (
    session text COLLATE "C" NOT NULL REFERENCES tool_sessions (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    call text NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (session, number)
);

-- The calls that wait for a person. Each is a JSON object.
CREATE TABLE tool_session_approvals (
    session text COLLATE "C" NOT NULL REFERENCES tool_sessions (id) ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL,
    call text NOT NULL,
    turn bigint NOT NULL,
    bytes bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (session, id)
);

-- What principals have spent under caps: picodollars and microseconds.
CREATE TABLE tool_principal_spending (
    principal text COLLATE "C" NOT NULL PRIMARY KEY,
    cost bigint NOT NULL,
    time bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX tool_principal_spending_by_end ON tool_principal_spending (ends_at);

-- The amounts that were added, so that one which is sent again is added once.
CREATE TABLE tool_added_amounts (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    known_until bigint NOT NULL
);

CREATE INDEX tool_added_amounts_by_end ON tool_added_amounts (known_until);

-- Conversations: the messages, and what the host keeps beside them.

-- Milliseconds since 1970, in a form that all versions of SQLite have.
CREATE VIEW tool_history_clock AS SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now;

-- Times are milliseconds since 1970. In an id or a principal, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_conversations (
    -- No number comes back, so that no message of a deleted conversation does.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    -- A JSON object.
    info TEXT NOT NULL,
    -- The number of messages, and the bytes that they take.
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (principal, id)
) STRICT;

CREATE INDEX tool_conversations_by_use ON tool_conversations (principal, updated_at, id);
CREATE INDEX tool_conversations_by_age ON tool_conversations (updated_at);

-- Each message is a history of one message, as JSON with its version.
CREATE TABLE tool_messages (
    conversation INTEGER NOT NULL,
    -- Counted from 0.
    position INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (conversation, position)
) STRICT, WITHOUT ROWID;

-- A trigger, because a program's own connections may not check foreign keys.
CREATE TRIGGER tool_conversations_deleted AFTER DELETE ON tool_conversations
BEGIN
    DELETE FROM tool_messages WHERE conversation = OLD.number;
END;

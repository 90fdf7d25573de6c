-- Conversations: the messages, and what the host keeps beside them.

-- Milliseconds since 1970.
CREATE VIEW tool_history_clock AS SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now;

-- Times are milliseconds since 1970. In an id or a principal, `%` is written as `%25` and a zero byte as `%00`.
CREATE TABLE tool_conversations (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    principal text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- A JSON object.
    info text NOT NULL,
    -- The number of messages, and the bytes that they take.
    messages bigint NOT NULL,
    bytes bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (principal, id)
);

CREATE INDEX tool_conversations_by_use ON tool_conversations (principal, updated_at, id);
CREATE INDEX tool_conversations_by_age ON tool_conversations (updated_at);

-- Each message is a history of one message, as JSON with its version.
CREATE TABLE tool_messages (
    conversation bigint NOT NULL REFERENCES tool_conversations (number) ON DELETE CASCADE,
    -- Counted from 0.
    position bigint NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (conversation, position)
);

-- Which toolsets an agent has, and how they are set.

-- An agent's version outlives its records, so that no version ever comes back.
CREATE TABLE agents (
    agent_id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_tools (
    agent_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    -- A JSON array of names.
    disabled_actions TEXT NOT NULL DEFAULT '[]',
    -- A JSON object.
    config TEXT NOT NULL DEFAULT '{}',
    secrets_key TEXT,
    secrets BLOB,
    version INTEGER NOT NULL DEFAULT 0,
    -- A change that counts this up as well is told by no version: what is sealed anew is the same secret.
    quiet INTEGER NOT NULL DEFAULT 0,
    lease_holder TEXT,
    -- Milliseconds since 1970.
    lease_until INTEGER,
    PRIMARY KEY (agent_id, tool),
    CHECK ((secrets IS NULL) = (secrets_key IS NULL))
) STRICT;

-- Every change of a record, by whomever, raises the agent's version and gives the record that version. No statement here
-- relies on a conflict clause, which `INSERT OR REPLACE` would override.

CREATE TRIGGER agent_tools_inserted AFTER INSERT ON agent_tools
BEGIN
    INSERT INTO agents (agent_id, version)
        SELECT NEW.agent_id, 0 WHERE NOT EXISTS (SELECT 1 FROM agents WHERE agent_id = NEW.agent_id);
    UPDATE agents SET version = version + 1 WHERE agent_id = NEW.agent_id;
    UPDATE agent_tools
        SET version = (SELECT version FROM agents WHERE agent_id = NEW.agent_id), quiet = quiet + 1
        WHERE agent_id = NEW.agent_id AND tool = NEW.tool;
END;

CREATE TRIGGER agent_tools_updated
AFTER UPDATE OF agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version ON agent_tools
WHEN NEW.quiet = OLD.quiet
BEGIN
    UPDATE agents SET version = version + 1 WHERE agent_id = OLD.agent_id AND OLD.agent_id <> NEW.agent_id;
    INSERT INTO agents (agent_id, version)
        SELECT NEW.agent_id, 0 WHERE NOT EXISTS (SELECT 1 FROM agents WHERE agent_id = NEW.agent_id);
    UPDATE agents SET version = version + 1 WHERE agent_id = NEW.agent_id;
    UPDATE agent_tools
        SET version = (SELECT version FROM agents WHERE agent_id = NEW.agent_id), quiet = quiet + 1
        WHERE agent_id = NEW.agent_id AND tool = NEW.tool;
END;

CREATE TRIGGER agent_tools_deleted AFTER DELETE ON agent_tools
BEGIN
    UPDATE agents SET version = version + 1 WHERE agent_id = OLD.agent_id;
END;

CREATE TRIGGER agents_go_up BEFORE UPDATE OF version ON agents WHEN NEW.version < OLD.version
BEGIN
    SELECT RAISE(ABORT, 'the version of an agent only goes up');
END;

CREATE TRIGGER agents_stay BEFORE DELETE ON agents
WHEN EXISTS (SELECT 1 FROM agent_tools WHERE agent_id = OLD.agent_id)
BEGIN
    SELECT RAISE(ABORT, 'the agent has records in agent_tools; delete them first');
END;

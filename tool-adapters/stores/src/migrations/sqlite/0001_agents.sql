-- Which toolsets an agent has, and how they are set.

-- An agent's version outlives its records, so that no version ever comes back.
CREATE TABLE tool_agents (
    agent_id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_agent_records (
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

CREATE TRIGGER tool_agent_records_inserted AFTER INSERT ON tool_agent_records
BEGIN
    INSERT INTO tool_agents (agent_id, version)
        SELECT NEW.agent_id, 0 WHERE NOT EXISTS (SELECT 1 FROM tool_agents WHERE agent_id = NEW.agent_id);
    UPDATE tool_agents SET version = version + 1 WHERE agent_id = NEW.agent_id;
    UPDATE tool_agent_records
        SET version = (SELECT version FROM tool_agents WHERE agent_id = NEW.agent_id), quiet = quiet + 1
        WHERE agent_id = NEW.agent_id AND tool = NEW.tool;
END;

CREATE TRIGGER tool_agent_records_updated
AFTER UPDATE OF agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version ON tool_agent_records
WHEN NEW.quiet = OLD.quiet
BEGIN
    UPDATE tool_agents SET version = version + 1 WHERE agent_id = OLD.agent_id AND OLD.agent_id <> NEW.agent_id;
    INSERT INTO tool_agents (agent_id, version)
        SELECT NEW.agent_id, 0 WHERE NOT EXISTS (SELECT 1 FROM tool_agents WHERE agent_id = NEW.agent_id);
    UPDATE tool_agents SET version = version + 1 WHERE agent_id = NEW.agent_id;
    UPDATE tool_agent_records
        SET version = (SELECT version FROM tool_agents WHERE agent_id = NEW.agent_id), quiet = quiet + 1
        WHERE agent_id = NEW.agent_id AND tool = NEW.tool;
END;

CREATE TRIGGER tool_agent_records_deleted AFTER DELETE ON tool_agent_records
BEGIN
    UPDATE tool_agents SET version = version + 1 WHERE agent_id = OLD.agent_id;
END;

-- What tells an agent's versions apart stays for good: an id whose row went would begin at 1 again.

CREATE TRIGGER tool_agents_go_up BEFORE UPDATE OF agent_id, version ON tool_agents
WHEN NEW.version < OLD.version OR NEW.agent_id <> OLD.agent_id
BEGIN
    SELECT RAISE(ABORT, 'the version of an agent only goes up');
END;

CREATE TRIGGER tool_agents_stay BEFORE DELETE ON tool_agents
BEGIN
    SELECT RAISE(ABORT, 'the row of an agent stays, so that no version comes back; delete its tool_agent_records');
END;

-- `INSERT OR REPLACE` deletes without that trigger.
CREATE TRIGGER tool_agents_are_not_replaced BEFORE INSERT ON tool_agents
WHEN EXISTS (SELECT 1 FROM tool_agents WHERE agent_id = NEW.agent_id)
BEGIN
    SELECT RAISE(ABORT, 'the row of an agent stays, so that no version comes back');
END;

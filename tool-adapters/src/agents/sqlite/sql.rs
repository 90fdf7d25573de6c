//! What is asked of SQLite. Each is one statement, so that it is done in whole or not at all and needs no transaction:
//! a statement that writes begins by locking the file, and one that reads sees one moment.

pub(super) const VERSION: &str = "SELECT version FROM tool_agents WHERE agent_id = ?1";

pub(super) const LOAD: &str = "
SELECT tool_agents.version, tool, enabled, disabled_actions, config, secrets_key, secrets,
    tool_agent_records.version
FROM tool_agents LEFT JOIN tool_agent_records USING (agent_id) WHERE agent_id = ?1 ORDER BY tool";

pub(super) const GET: &str = "
SELECT 0, tool, enabled, disabled_actions, config, secrets_key, secrets, version
FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2";

/// The version that the trigger is about to give it comes back: `RETURNING` does not see what triggers change.
pub(super) const INSERT: &str = "
INSERT INTO tool_agent_records (agent_id, tool, enabled, disabled_actions, config, secrets_key, secrets, version)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1 + coalesce((SELECT version FROM tool_agents WHERE agent_id = ?1), 0)
WHERE NOT EXISTS (SELECT 1 FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2)
RETURNING version";

pub(super) const UPDATE: &str = "
UPDATE tool_agent_records SET enabled = ?3, disabled_actions = ?4, config = ?5,
    secrets_key = CASE WHEN ?9 THEN secrets_key ELSE ?6 END, secrets = CASE WHEN ?9 THEN secrets ELSE ?7 END,
    version = 1 + (SELECT version FROM tool_agents WHERE agent_id = ?1)
WHERE agent_id = ?1 AND tool = ?2 AND version = ?8
RETURNING version";

pub(super) const FOUND: &str = "SELECT version FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2";

pub(super) const REMOVE: &str =
    "DELETE FROM tool_agent_records WHERE agent_id = ?1 AND tool = ?2 AND version = ?3 RETURNING 1";

pub(super) const AGENTS: &str = "
SELECT agent_id, tool_agents.version, count(*) FROM tool_agents JOIN tool_agent_records USING (agent_id)
WHERE ?1 IS NULL OR agent_id > ?1 GROUP BY agent_id ORDER BY agent_id LIMIT ?2";

pub(super) const SEALED: &str = "
SELECT agent_id, tool, secrets_key, secrets FROM tool_agent_records
WHERE secrets_key <> ?1 AND (?2 IS NULL OR (agent_id, tool) > (?2, ?3)) ORDER BY agent_id, tool LIMIT ?4";

pub(super) const REPLACE_SECRETS: &str = "
UPDATE tool_agent_records SET secrets_key = ?5, secrets = ?6, quiet = quiet + 1
WHERE agent_id = ?1 AND tool = ?2 AND secrets_key = ?3 AND secrets = ?4 RETURNING 1";

/// Milliseconds since 1970, by SQLite's clock, in every version of it.
macro_rules! now {
    () => {
        "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    };
}

pub(super) const LEASE: &str = concat!(
    "UPDATE tool_agent_records SET lease_holder = ?3, lease_until = ?4 + ",
    now!(),
    " WHERE agent_id = ?1 AND tool = ?2 AND (lease_holder IS NULL OR lease_holder = ?3 OR lease_until <= ",
    now!(),
    ") RETURNING 1"
);

pub(super) const RELEASE: &str = "
UPDATE tool_agent_records SET lease_holder = NULL, lease_until = NULL WHERE agent_id = ?1 AND tool = ?2 AND lease_holder = ?3
RETURNING 1";

//! The keys of a session.

use crate::kept_values::from_json;
use crate::redis::connection::Connection;
use crate::redis::keys::{KeySpace, split_incarnation};
use crate::redis::scripts::SESSION_KEYS;
use tool_core::session::{SessionCall, StoreError};

/// The keys of a session, in the order in which the scripts take them.
pub(crate) struct SessionKeys {
    /// The beginning of them all.
    base: String,
    pub(crate) all: [String; SESSION_KEYS.len()],
}

impl SessionKeys {
    pub(crate) fn new(keys: &KeySpace, id: &str) -> Self {
        let base = keys.session(id);
        Self {
            all: SESSION_KEYS.map(|part| format!("{base}:{part}")),
            base,
        }
    }

    /// Returns the key that exists as long as the session.
    pub(crate) fn record(&self) -> &str {
        let [record, ..] = &self.all;
        record
    }

    /// Returns the key of the calls that wait for approval.
    pub(crate) fn pending(&self) -> &str {
        let [_, _, _, _, pending, ..] = &self.all;
        pending
    }

    /// Returns the key that exists once an amount is charged to the session. No other key of the
    /// session has this last part.
    pub(crate) fn charged(&self, id: u128) -> String {
        format!("{}:{id:032x}:charged", self.base)
    }

    /// Reads the calls of the session that is or was open last under the id, or `only` those of one
    /// incarnation.
    pub(crate) async fn calls(
        &self,
        connection: &Connection,
        only: Option<&str>,
    ) -> Result<Vec<SessionCall>, StoreError> {
        let [.., calls] = &self.all;
        let mut query = redis::cmd("LRANGE");
        query.arg(calls).arg(0).arg(-1);
        let calls: Vec<String> = connection.command(query).await?;
        let calls = calls.iter().map(|kept| split_incarnation(kept));
        let own = calls.filter(|(incarnation, _)| only.is_none_or(|only| only == *incarnation));
        own.map(|(_, call)| from_json(call)).collect()
    }
}

//! The tokens as they stand in the record.

use super::Of;
use super::refresh::{Failed, STORE, slow};
use crate::agents::{AgentError, AgentErrorKind, SealedSecrets, Tokens};
use crate::configure::SecretDocument;
use crate::response::ToolError;
use tokio::time::timeout;

/// The secrets of a record, sealed and opened, and the tokens among them.
pub(super) struct Row {
    pub(super) sealed: SealedSecrets,
    pub(super) secrets: SecretDocument,
    pub(super) tokens: Tokens,
}

impl Of {
    /// What the record holds now, and what the store did not take yet, as if it had.
    pub(super) async fn row(&self) -> Result<Row, Failed> {
        let mut row = self.stored().await?.ok_or_else(|| self.not_connected())?;
        if let Some(unsaved) = self.refreshes.unsaved().get(&self.key())
            && unsaved.replaces(&row.tokens)
        {
            row.tokens = unsaved.tokens.clone();
        }
        Ok(row)
    }

    /// What stands in the record now; nothing where it is gone, or has no tokens.
    pub(super) async fn stored(&self) -> Result<Option<Row>, Failed> {
        let record = timeout(STORE, self.store.get(&self.agent, &self.tool)).await.map_err(|_| slow())?;
        let record = record.map_err(|error| self.failed(error))?;
        let Some(sealed) = record.and_then(|record| record.secrets) else { return Ok(None) };
        let secrets = self.keys.open(&self.agent, &self.tool, &sealed).map_err(|error| self.failed(error))?;
        Ok(Tokens::of(&secrets).map(|tokens| Row { sealed, secrets, tokens }))
    }

    /// The store, or the keys: a token that is still good is good all the same.
    pub(super) fn failed(&self, kind: impl Into<AgentErrorKind>) -> Failed {
        let kind = kind.into();
        let down = matches!(kind, AgentErrorKind::StoreDown(_));
        let text = AgentError::new(&self.agent, &self.tool, kind).to_string();
        let error = if down { ToolError::transient(text) } else { ToolError::auth(text) };
        Failed { error, lost: false }
    }

    /// Who holds a token already may use it as long as it is good: a record that goes ends no session.
    pub(super) fn not_connected(&self) -> Failed {
        self.person("it has no tokens any more")
    }

    /// There will be no new token: nothing helps but a person.
    pub(super) fn person(&self, why: &str) -> Failed {
        let (tool, provider) = (self.tool.escape_debug(), self.grant.provider.escape_debug());
        let text = format!("toolset `{tool}` has to be connected again to `{provider}` by a person: {why}");
        Failed { error: ToolError::auth(text), lost: false }
    }
}

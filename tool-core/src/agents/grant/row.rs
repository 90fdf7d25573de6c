//! The tokens as they stand in the record.

use super::Of;
use super::refresh::Failed;
use crate::agents::{AgentError, AgentErrorKind, SealedSecrets, Tokens};
use crate::configure::SecretDocument;
use crate::response::ToolError;

/// The secrets of a record, sealed and opened, and the tokens among them.
pub(super) struct Row {
    pub(super) sealed: SealedSecrets,
    pub(super) secrets: SecretDocument,
    pub(super) tokens: Tokens,
}

impl Of {
    /// What the record holds now, and what the store did not take yet, as if it had.
    pub(super) async fn row(&self) -> Result<Row, Failed> {
        let mut row = self.stored().await?;
        if let Some((used, new)) = self.refreshes.unsaved().get(&self.key())
            && row.tokens.refresh.as_ref().is_some_and(|token| token.expose() == used.expose())
        {
            row.tokens = new.clone();
        }
        Ok(row)
    }

    /// What stands in the record now.
    pub(super) async fn stored(&self) -> Result<Row, Failed> {
        let record = self.store.get(&self.agent, &self.tool).await.map_err(|error| self.failed(error))?;
        let sealed = record.and_then(|record| record.secrets).ok_or_else(|| self.not_connected())?;
        let secrets = self.keys.open(&self.agent, &self.tool, &sealed).map_err(|error| self.failed(error))?;
        let tokens = Tokens::of(&secrets).ok_or_else(|| self.not_connected())?;
        Ok(Row { sealed, secrets, tokens })
    }

    /// The store, or the keys: a token that is still good is good all the same.
    pub(super) fn failed(&self, kind: impl Into<AgentErrorKind>) -> Failed {
        let kind = kind.into();
        let down = matches!(kind, AgentErrorKind::StoreDown(_));
        let text = AgentError::new(&self.agent, &self.tool, kind).to_string();
        let error = if down { ToolError::transient(text) } else { ToolError::auth(text) };
        Failed { error, lost: false }
    }

    fn not_connected(&self) -> Failed {
        self.lost("it has no tokens any more")
    }

    /// The grant is gone: nothing helps but a person.
    pub(super) fn lost(&self, why: &str) -> Failed {
        let (tool, provider) = (self.tool.escape_debug(), self.grant.provider.escape_debug());
        let text = format!("toolset `{tool}` has to be connected again to `{provider}` by a person: {why}");
        Failed { error: ToolError::auth(text), lost: true }
    }
}

//! Putting a grant among the secrets of a record.

use super::{AgentError, AgentErrorKind, AgentStoreError, AgentTools, Agents, RecordWrite, SecretsWrite, Tokens};
use crate::configure::SecretDocument;
use crate::response::ToolError;

/// How often a record is read again that others write too.
const TRIES: u32 = 32;

impl Agents {
    /// Puts the tokens of a new grant among the secrets of a record; whatever else stands there stays, and tokens of an
    /// earlier grant go. The record has a new version then, so that its toolset is built anew.
    ///
    /// `NotConfigured` where the agent has no record of the toolset: add one first. Secrets that do not open are not
    /// overwritten, for what else was among them would be lost: set them anew.
    pub async fn connect(&self, agent: &str, tool: &str, tokens: Tokens) -> Result<AgentTools, AgentError> {
        let error = |kind| AgentError::new(agent, tool, kind);
        let mut found = None;
        for _ in 0..TRIES {
            let record = self.0.store.get(agent, tool).await.map_err(|why| AgentError::of_store(agent, tool, why))?;
            let mut record = record.ok_or_else(|| error(AgentErrorKind::NotConfigured))?;
            let secrets = match &record.secrets {
                Some(sealed) => self.0.keys.open(agent, tool, sealed).map_err(|why| error(why.into()))?,
                None => SecretDocument::none(),
            };
            let no_object = || error(AgentErrorKind::Failed(ToolError::permanent("its secrets are no JSON object")));
            let secrets = tokens.put_into(&secrets).ok_or_else(no_object)?;
            let sealed = self.0.keys.seal(agent, tool, &secrets).map_err(|why| error(why.into()))?;
            let mut write = RecordWrite::of(&record);
            write.secrets = SecretsWrite::Set(sealed.clone());
            match self.0.store.write(&write).await {
                Ok(version) => {
                    (record.version, record.secrets) = (version, Some(sealed));
                    return Ok(record);
                }
                // Somebody was faster: with what stands there now.
                Err(AgentStoreError::Conflict { found: now }) => found = now,
                Err(why) => return Err(AgentError::of_store(agent, tool, why)),
            }
            tokio::task::yield_now().await;
        }
        Err(error(AgentErrorKind::Conflict { found }))
    }
}

//! A record that is about to be written.

use super::check::{self, Checked, Given};
use super::{check_ids, nothing};
use crate::agents::{AgentError, AgentTools, Agents, Expected, RecordWrite, SealedSecrets, SecretsWrite};
use crate::configure::SecretDocument;
use serde_json::Value;

/// A record that is about to be written: nothing is checked and nothing is written before [`save`](Self::save).
///
/// Made by [`Agents::add`] and [`Agents::edit`].
#[derive(Debug)]
#[must_use = "nothing is written before it is saved"]
pub struct RecordDraft {
    agents: Agents,
    write: RecordWrite,
    secrets: Option<SecretDocument>,
    /// What is there, of a record that is edited.
    before: Option<AgentTools>,
}

impl RecordDraft {
    pub(super) fn new(agents: Agents, agent: String, tool: String) -> Self {
        Self { agents, write: RecordWrite::new(agent, tool, nothing()), secrets: None, before: None }
    }

    pub(super) fn of(agents: Agents, record: &AgentTools) -> Self {
        Self { agents, write: RecordWrite::of(record), secrets: None, before: Some(record.clone()) }
    }

    /// All settings: an object. They are stored as they are given; defaults are filled in whenever they are used, so that
    /// a better default reaches records that do not say otherwise.
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        self.write.config = Some(config.into()).filter(|config| !config.is_null()).unwrap_or_else(nothing);
        self
    }

    /// All secrets: an object, as JSON. Those that are there go, the tokens of a grant among them. Without this they stay.
    pub fn secrets(mut self, secrets: impl Into<SecretDocument>) -> Self {
        self.secrets = Some(secrets.into());
        self
    }

    /// Leaves no secrets.
    pub fn clear_secrets(self) -> Self {
        self.secrets(SecretDocument::none())
    }

    /// Whether the agent has the toolset.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.write.enabled = enabled;
        self
    }

    /// Takes an action from the agent, by the name that a model calls it by.
    pub fn disable_action(mut self, action: impl Into<String>) -> Self {
        self.write.disabled_actions.insert(action.into());
        self
    }

    /// Gives it back.
    pub fn enable_action(mut self, action: &str) -> Self {
        self.write.disabled_actions.remove(action);
        self
    }

    /// Checks everything, seals the secrets and writes the record. What it gives has the new version.
    ///
    /// What is refused leaves the store as it was: `NotRegistered`; every problem of settings (`InvalidConfig`), secrets
    /// (`InvalidSecrets`) and actions (`UnknownAction`), in `Several` where there are several; `MissingKey` where there
    /// is nothing to seal with; `Conflict` where the record was changed, removed, or added by somebody else.
    ///
    /// A record that is enabled has the secrets that its toolset cannot do without. Add one that is not enabled where they
    /// come later; a grant may always come later. Secrets that stay are judged too, where there is a key to open them.
    pub async fn save(self) -> Result<AgentTools, AgentError> {
        let Self { agents, mut write, secrets, before } = self;
        check_ids(&write.agent, Some(&write.tool))?;
        let factory = agents.registered(&write.agent, &write.tool)?;
        let kept = before.as_ref().and_then(|record| record.secrets.as_ref());
        let opened = before.as_ref().filter(|_| secrets.is_none()).and_then(|record| check::kept(&agents, record));
        let given = match (&secrets, kept) {
            (Some(secrets), _) => Given::Secrets(secrets),
            (None, Some(_)) => Given::Kept(opened.as_ref()),
            (None, None) => Given::None,
        };
        let known = before.as_ref().map(|record| &record.disabled_actions);
        Checked { factory, write: &write, given, known }
            .outcome()
            .map_err(|kind| AgentError::new(&write.agent, &write.tool, kind))?;
        if let Some(secrets) = &secrets {
            write.secrets = sealed(&agents, &write, secrets)?;
        }
        written(&agents, write, kept.cloned()).await
    }
}

fn sealed(agents: &Agents, write: &RecordWrite, secrets: &SecretDocument) -> Result<SecretsWrite, AgentError> {
    // Without secrets there is nothing that would need a key.
    let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if secrets.with_value(empty) == Some(true) {
        return Ok(SecretsWrite::Clear);
    }
    let sealed = agents.0.keys.seal(&write.agent, &write.tool, secrets);
    sealed.map(SecretsWrite::Set).map_err(|error| AgentError::new(&write.agent, &write.tool, error.into()))
}

/// Writes, and gives what is there then. `kept` is what stays where the write says so.
pub(super) async fn written(
    agents: &Agents,
    write: RecordWrite,
    kept: Option<SealedSecrets>,
) -> Result<AgentTools, AgentError> {
    let version = agents.0.store.write(&write).await;
    let version = version.map_err(|error| AgentError::of_store(&write.agent, &write.tool, error))?;
    let RecordWrite { agent, tool, enabled, disabled_actions, config, secrets, expected } = write;
    let secrets = match (secrets, expected) {
        (SecretsWrite::Set(sealed), _) => Some(sealed),
        (SecretsWrite::Keep, Expected::Version(_)) => kept,
        (SecretsWrite::Keep, Expected::Absent) | (SecretsWrite::Clear, _) => None,
    };
    Ok(AgentTools { agent, tool, enabled, disabled_actions, config, secrets, version })
}

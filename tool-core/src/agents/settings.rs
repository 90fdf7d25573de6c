//! What stands behind a settings form: which toolsets there are, what each agent has of them, and writing that down.

use crate::agents::Agents;
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::SealedSecrets;
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools, is_id};
use crate::agents::store::{AgentStoreError, Precondition, RecordWrite, SecretsWrite};
use crate::agents::tokens::Tokens;
use crate::arguments::problem::nearest;
use crate::call::error::ToolError;
use crate::text;
use crate::tool::action::Action;
use crate::tool::configure::ToolsetFactory;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::configure::secret::SecretDocument;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What stands behind a settings form.
///
/// ```standalone_crate
/// use tool_core::agents::{AgentErrorKind, Agents, Keyring, MemoryAgentToolStore};
/// use tool_core::serde_json::json;
/// # use tool_core::{Configure, Secret, ToolError, toolset};
/// # use tool_core::schemars::JsonSchema;
/// # use tool_core::serde::Deserialize;
/// # struct Shop;
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Settings { #[serde(default = "cents")] #[schemars(range(max = 50))] vat: u8 }
/// # fn cents() -> u8 { 19 }
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Secrets { api_key: Secret }
/// # impl Configure for Shop {
/// #     type Config = Settings;
/// #     type Secrets = Secrets;
/// #     async fn configure(_: Settings, _: Secrets) -> Result<Self, ToolError> { Ok(Self) }
/// # }
/// # /// Sell things.
/// # #[toolset]
/// # impl Shop {
/// #     /// Tell a price.
/// #     #[tool]
/// #     fn price(&self) -> u8 { 7 }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = Keyring::parse(&Keyring::generate("2026-11")?)?;
/// let agents = Agents::builder(MemoryAgentToolStore::new()).keys(keys).build()?;
///
/// // What a person may choose from, and what each asks for.
/// let form = agents.form("shop").ok_or("not linked")?;
/// assert_eq!(form.config_schema.as_ref().ok_or("no settings")?["properties"]["vat"]["default"], 19);
///
/// // Everything that is wrong, at once, and nothing is written.
/// let refused = agents.add("alice", "shop").config(json!({"vat": 70})).save().await.unwrap_err();
/// assert!(matches!(&refused.kind, AgentErrorKind::Several(kinds) if kinds.len() == 2));
///
/// let record = agents.add("alice", "shop").config(json!({"vat": 7})).secrets(json!({"api_key": "k-1"})).save().await?;
/// let record = agents.edit(&record).disable_action("price").save().await?;
/// assert_eq!(agents.list("alice").await?.tools, [record]);
/// # Ok(())
/// # }
/// ```
impl Agents {
    /// What each toolset that agents may have asks for, by name.
    pub fn forms(&self) -> impl Iterator<Item = &ToolsetMetadata> {
        self.0.catalog.iter().map(|factory| factory.metadata())
    }

    /// What a toolset asks for; nothing where none of that name is registered.
    pub fn form(&self, tool: &str) -> Option<&ToolsetMetadata> {
        self.0.catalog.get(tool).map(|factory| factory.metadata())
    }

    /// What a toolset can do, as far as that is known before it is configured; nothing where none of that name is
    /// registered.
    pub fn actions(&self, tool: &str) -> Option<Vec<Action>> {
        self.0.catalog.get(tool).map(|factory| factory.actions())
    }

    /// What an agent has: its records by the toolset's name, and rows that hold no record. Nothing where the agent is
    /// not known.
    pub async fn list(&self, agent: &str) -> Result<AgentRecords, AgentError> {
        check_ids(agent, None)?;
        self.0.store.load(agent).await.map_err(|error| AgentError::of_store(agent, "", error))
    }

    /// One record: `NotConfigured` where the agent has none of the toolset.
    pub async fn record(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        check_ids(agent, Some(tool))?;
        let found = self.0.store.get(agent, tool).await.map_err(|error| AgentError::of_store(agent, tool, error))?;
        found.ok_or_else(|| AgentError::new(agent, tool, AgentErrorKind::NotConfigured))
    }

    /// The agents that have records, by id: those after `after`, `limit` of them at most.
    pub async fn agents(&self, after: Option<&str>, limit: u32) -> Result<Vec<AgentSummary>, AgentError> {
        let listed = self.0.store.agents(after, limit).await;
        listed.map_err(|error| AgentError::of_store("", "", error))
    }

    /// A new record of a toolset: say what it holds, and [`save`](RecordDraft::save) it. It is enabled unless told.
    pub fn add(&self, agent: impl Into<String>, tool: impl Into<String>) -> RecordBuilder {
        RecordBuilder::new(self.clone(), agent.into(), tool.into())
    }

    /// A change of a record, in the version that was read: what is not said stays what it is.
    pub fn edit(&self, record: &AgentTools) -> RecordBuilder {
        RecordBuilder::of(self.clone(), record)
    }

    /// Removes a record, in the version that was read: `Conflict` where somebody has changed it since. Its secrets go
    /// with it.
    pub async fn remove(&self, record: &AgentTools) -> Result<(), AgentError> {
        let AgentTools { agent, tool, version, .. } = record;
        let removed = self.0.store.remove(agent, tool, *version).await;
        removed.map_err(|error| AgentError::of_store(agent, tool, error))
    }

    /// The factory of a toolset, or the error that there is none.
    fn registered(&self, agent: &str, tool: &str) -> Result<&Arc<dyn ToolsetFactory>, AgentError> {
        let missing = || AgentErrorKind::NotRegistered { nearest: self.0.catalog.nearest(tool) };
        self.0.catalog.get(tool).ok_or_else(|| AgentError::new(agent, tool, missing()))
    }
}

/// No settings: an object that is empty.
fn nothing() -> Value {
    Value::Object(serde_json::Map::new())
}

fn check_ids(agent: &str, tool: Option<&str>) -> Result<(), AgentError> {
    let sound = is_id(agent) && tool.is_none_or(is_id);
    // An id that is none may be endless, or hold what a terminal obeys.
    let shown = |id: &str| text::truncate(id, 60);
    let invalid = || AgentError::new(&shown(agent), &shown(tool.unwrap_or_default()), AgentErrorKind::InvalidId);
    if sound { Ok(()) } else { Err(invalid()) }
}

// ---- What has to be right about a record before it is written.

/// The secrets that a record will have.
pub(crate) enum Given<'a> {
    /// These.
    Secrets(&'a SecretDocument),
    /// Those that are sealed in it, as far as they can be opened here: whoever loads the others judges them.
    Kept(Option<&'a SecretDocument>),
    /// None.
    None,
}

/// The secrets that stay in a record, opened where there is a key: some may be missing in one that was not enabled when
/// they were given, or before a grant was put among them.
pub(crate) fn kept_secrets(agents: &Agents, record: &AgentTools) -> Option<SecretDocument> {
    agents.0.keys.open(&record.agent, &record.tool, record.secrets.as_ref()?).ok()
}

/// A write, and what it is held to.
pub(crate) struct Checked<'a> {
    pub(crate) factory: &'a Arc<dyn ToolsetFactory>,
    pub(crate) write: &'a RecordWrite,
    pub(crate) given: Given<'a>,
    /// Actions that are disabled already: they may be gone from the toolset, and do no harm.
    pub(crate) known: Option<&'a BTreeSet<String>>,
}

impl Checked<'_> {
    /// Everything that is wrong.
    pub(crate) fn outcome(&self) -> Result<(), AgentErrorKind> {
        let metadata = self.factory.metadata();
        let mut wrong = Vec::new();
        wrong.extend(metadata.check_config(&self.write.config).err().map(AgentErrorKind::InvalidConfig));
        wrong.extend(self.secrets());
        wrong.extend(self.unknown_actions());
        match wrong.len() {
            0 => Ok(()),
            1 => wrong.pop().map_or(Ok(()), Err),
            _ => Err(AgentErrorKind::Several(wrong)),
        }
    }

    fn secrets(&self) -> Option<AgentErrorKind> {
        let checked = match self.given {
            Given::Secrets(secrets) if self.write.enabled || !is_empty(secrets) => {
                self.factory.metadata().check_secrets(secrets)
            }
            Given::None if self.write.enabled => self.factory.metadata().check_secrets(&SecretDocument::none()),
            Given::Kept(Some(secrets)) if self.write.enabled => self.factory.metadata().check_kept_secrets(secrets),
            Given::Secrets(_) | Given::None | Given::Kept(_) => Ok(()),
        };
        checked.err().map(AgentErrorKind::InvalidSecrets)
    }

    fn unknown_actions(&self) -> Vec<AgentErrorKind> {
        let new =
            self.write.disabled_actions.iter().filter(|action| self.known.is_none_or(|all| !all.contains(*action)));
        let new = new.collect::<Vec<_>>();
        if new.is_empty() {
            return Vec::new();
        }
        let actions = self.factory.actions();
        new.into_iter().filter_map(|action| unknown_action(&actions, action)).collect()
    }
}

/// The error for an action that the toolset does not have; nothing where it has it, or none are known before it is
/// configured.
pub(crate) fn unknown_action(actions: &[Action], action: &str) -> Option<AgentErrorKind> {
    let names = || actions.iter().map(|action| action.name.as_str());
    let unknown = !actions.is_empty() && !names().any(|name| name == action);
    unknown.then(|| AgentErrorKind::UnknownAction {
        action: text::truncate(action, 60),
        nearest: nearest(action, names()).map(str::to_owned),
    })
}

fn is_empty(secrets: &SecretDocument) -> bool {
    secrets.with_value(|value| value.as_object().is_some_and(serde_json::Map::is_empty)) == Some(true)
}

// ---- A record that is about to be written.

/// A record that is about to be written: nothing is checked and nothing is written before [`save`](Self::save).
///
/// Made by [`Agents::add`] and [`Agents::edit`].
#[derive(Debug)]
#[must_use = "nothing is written before it is saved"]
pub struct RecordBuilder {
    agents: Agents,
    write: RecordWrite,
    secrets: Option<SecretDocument>,
    /// What is there, of a record that is edited.
    before: Option<AgentTools>,
}

impl RecordBuilder {
    pub(crate) fn new(agents: Agents, agent: String, tool: String) -> Self {
        Self { agents, write: RecordWrite::new(agent, tool, nothing()), secrets: None, before: None }
    }

    pub(crate) fn of(agents: Agents, record: &AgentTools) -> Self {
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
        let opened = before.as_ref().filter(|_| secrets.is_none()).and_then(|record| kept_secrets(&agents, record));
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
pub(crate) async fn written(
    agents: &Agents,
    write: RecordWrite,
    kept: Option<SealedSecrets>,
) -> Result<AgentTools, AgentError> {
    let version = agents.0.store.write(&write).await;
    let version = version.map_err(|error| AgentError::of_store(&write.agent, &write.tool, error))?;
    let RecordWrite { agent, tool, enabled, disabled_actions, config, secrets, expected } = write;
    let secrets = match (secrets, expected) {
        (SecretsWrite::Set(sealed), _) => Some(sealed),
        (SecretsWrite::Keep, Precondition::Version(_)) => kept,
        (SecretsWrite::Keep, Precondition::Absent) | (SecretsWrite::Clear, _) => None,
    };
    Ok(AgentTools { agent, tool, enabled, disabled_actions, config, secrets, version })
}

// ---- Switching a toolset, or one of its actions, on and off, whoever else writes at the same time.

/// How often somebody else may come first.
const TRIES: u32 = 100;

impl Agents {
    /// Gives an agent a toolset that it has a record of. The record is checked as when it is saved: a toolset that lacks
    /// settings or secrets would not work. Secrets are judged where there is a key to open them. Nothing is written where
    /// it is enabled already.
    pub async fn enable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| self.enabled(record);
        self.change(agent, tool, change).await
    }

    /// Takes it away and keeps the record. That works whatever is wrong with the toolset, its settings or its secrets; not
    /// with a row that holds no record at all (`Unreadable`), which the agent does not have the toolset of, and which is
    /// put right or removed in the database.
    pub async fn disable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| Ok(record.enabled.then(|| AgentTools { enabled: false, ..record.clone() }));
        self.change(agent, tool, change).await
    }

    /// Gives an agent an action back that it was denied.
    pub async fn enable_action(&self, agent: &str, tool: &str, action: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| {
            let mut changed = record.clone();
            // One that the toolset does not have any more may go all the same.
            if changed.disabled_actions.remove(action) {
                return Ok(Some(changed));
            }
            self.check_action(record, action).map(|()| None)
        };
        self.change(agent, tool, change).await
    }

    /// Denies an agent an action of a toolset, by the name that a model calls it by.
    pub async fn disable_action(&self, agent: &str, tool: &str, action: &str) -> Result<AgentTools, AgentError> {
        let change = |record: &AgentTools| {
            if record.disabled_actions.contains(action) {
                return Ok(None);
            }
            self.check_action(record, action)?;
            let mut changed = record.clone();
            changed.disabled_actions.insert(action.to_owned());
            Ok(Some(changed))
        };
        self.change(agent, tool, change).await
    }

    /// Reads, changes and writes, again where somebody else has written in between. Nothing is written where there is
    /// nothing to change.
    async fn change(
        &self,
        agent: &str,
        tool: &str,
        change: impl Fn(&AgentTools) -> Result<Option<AgentTools>, AgentError>,
    ) -> Result<AgentTools, AgentError> {
        let mut tries = TRIES;
        loop {
            let record = self.record(agent, tool).await?;
            let Some(changed) = change(&record)? else { return Ok(record) };
            tries -= 1;
            match written(self, RecordWrite::of(&changed), record.secrets).await {
                Err(AgentError { kind: AgentErrorKind::Conflict { .. }, .. }) if tries > 0 => {
                    tokio::task::yield_now().await;
                }
                other => return other,
            }
        }
    }

    fn enabled(&self, record: &AgentTools) -> Result<Option<AgentTools>, AgentError> {
        if record.enabled {
            return Ok(None);
        }
        let factory = self.registered(&record.agent, &record.tool)?;
        let changed = AgentTools { enabled: true, ..record.clone() };
        let opened = kept_secrets(self, record);
        let given = if record.secrets.is_some() { Given::Kept(opened.as_ref()) } else { Given::None };
        let checked =
            Checked { factory, write: &RecordWrite::of(&changed), given, known: Some(&record.disabled_actions) };
        checked.outcome().map_err(|kind| AgentError::new(&record.agent, &record.tool, kind))?;
        Ok(Some(changed))
    }

    fn check_action(&self, record: &AgentTools, action: &str) -> Result<(), AgentError> {
        let factory = self.registered(&record.agent, &record.tool)?;
        let unknown = unknown_action(&factory.actions(), action);
        unknown.map_or(Ok(()), |kind| Err(AgentError::new(&record.agent, &record.tool, kind)))
    }
}

// ---- Putting a grant among the secrets of a record.

/// How often a record is read again that others write too.
const CONNECT_TRIES: u32 = 32;

impl Agents {
    /// Puts the tokens of a new grant among the secrets of a record; whatever else stands there stays, and tokens of an
    /// earlier grant go. The record has a new version then, so that its toolset is built anew.
    ///
    /// `NotConfigured` where the agent has no record of the toolset: add one first. Secrets that do not open are not
    /// overwritten, for what else was among them would be lost: set them anew.
    pub async fn connect(&self, agent: &str, tool: &str, tokens: Tokens) -> Result<AgentTools, AgentError> {
        let error = |kind| AgentError::new(agent, tool, kind);
        let mut found = None;
        for _ in 0..CONNECT_TRIES {
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

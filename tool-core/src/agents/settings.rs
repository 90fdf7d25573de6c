//! The backend of a settings form: which toolsets there are, and what each agent has of them.

use crate::agents::builder::Agents;
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::keys::{KeyError, SealedSecrets};
use crate::agents::record::{AgentRecords, AgentSummary, AgentTools, is_id};
use crate::agents::store::{AgentStoreError, RecordWrite, SecretsWrite};
use crate::agents::tokens::Tokens;
use crate::arguments::Problem;
use crate::call::error::ToolError;
use crate::json::nested::{MAX_STORED_DEPTH, unless_deeper};
use crate::text;
use crate::tool::{Action, BoundSettings, SecretDocument, ToolsetFactory, ToolsetMetadata};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Number of attempts to change a record that other writers change at the same time.
const ATTEMPTS: u32 = 100;

/// The backend of a settings form.
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
/// // The settings of a toolset, for a form.
/// let form = agents.form("shop").ok_or("not linked")?;
/// assert_eq!(form.config_schema.as_ref().ok_or("no settings")?["properties"]["vat"]["default"], 19);
///
/// // Invalid records are not written. The error lists every problem.
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
    /// Returns the metadata of all toolsets that agents may have, sorted by name.
    pub fn forms(&self) -> impl Iterator<Item = &ToolsetMetadata> {
        self.0.catalog.iter().map(|factory| factory.metadata())
    }

    /// Returns the metadata of a toolset: its settings, secrets and authentication. Returns `None`
    /// if no toolset of this name is registered.
    pub fn form(&self, tool: &str) -> Option<&ToolsetMetadata> {
        self.0.catalog.get(tool).map(|factory| factory.metadata())
    }

    /// Returns the actions of a toolset, as far as they are known before it is configured. Returns
    /// `None` if no toolset of this name is registered.
    pub fn actions(&self, tool: &str) -> Option<Vec<Action>> {
        self.0.catalog.get(tool).map(|factory| factory.actions())
    }

    /// Reads an agent's records and the rows that are not valid records. Both are empty for an
    /// unknown agent.
    pub async fn list(&self, agent: &str) -> Result<AgentRecords, AgentError> {
        check_ids(agent, None)?;
        self.0
            .store
            .load(agent)
            .await
            .map_err(AgentError::about(agent, ""))
    }

    /// Reads one record. Fails with `NotConfigured` if the agent has no record of the toolset.
    pub async fn record(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        check_ids(agent, Some(tool))?;
        let found = self
            .0
            .store
            .get(agent, tool)
            .await
            .map_err(AgentError::about(agent, tool))?;
        found.ok_or_else(|| AgentError::new(agent, tool, AgentErrorKind::NotConfigured))
    }

    /// Lists at most `limit` agents that have records, sorted by id, beginning after the id
    /// `after`.
    pub async fn agents(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentSummary>, AgentError> {
        self.0
            .store
            .agents(after, limit)
            .await
            .map_err(AgentError::about("", ""))
    }

    /// Begins a new record of a toolset, which is enabled. [`save`](RecordBuilder::save) writes it.
    pub fn add(&self, agent: impl Into<String>, tool: impl Into<String>) -> RecordBuilder {
        let write = RecordWrite::new(agent, tool, Value::Object(Map::new()));
        RecordBuilder {
            agents: self.clone(),
            write,
            too_deep: false,
            secrets: None,
            before: None,
        }
    }

    /// Begins a change of a record that was read. [`save`](RecordBuilder::save) writes it.
    pub fn edit(&self, record: &AgentTools) -> RecordBuilder {
        let before = Some(record.clone());
        RecordBuilder {
            agents: self.clone(),
            write: RecordWrite::of(record),
            too_deep: false,
            secrets: None,
            before,
        }
    }

    /// Removes a record that was read, with its secrets. Fails with `Conflict` if it has changed
    /// since.
    pub async fn remove(&self, record: &AgentTools) -> Result<(), AgentError> {
        let AgentTools {
            agent,
            tool,
            version,
            ..
        } = record;
        self.0
            .store
            .remove(agent, tool, *version)
            .await
            .map_err(AgentError::about(agent, tool))
    }

    /// Enables a record. Checks it as [`save`](RecordBuilder::save) does; secrets are checked if
    /// there is a key to open them. Writes nothing if the record is enabled already.
    pub async fn enable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let enable = |record: &AgentTools, write: &mut RecordWrite| {
            write.enabled = true;
            if record.enabled {
                Ok(())
            } else {
                self.check(write, None, Some(record))
            }
        };
        self.change(agent, tool, enable).await
    }

    /// Disables a record and keeps its contents. Does not check the toolset, its settings or its
    /// secrets. Fails with `Unreadable` if the row is not a valid record; the agent does not have
    /// such a toolset, and the row must be corrected or removed in the database.
    pub async fn disable(&self, agent: &str, tool: &str) -> Result<AgentTools, AgentError> {
        let disable = |_: &AgentTools, write: &mut RecordWrite| {
            write.enabled = false;
            Ok(())
        };
        self.change(agent, tool, disable).await
    }

    /// Gives an agent a disabled action back.
    pub async fn enable_action(
        &self,
        agent: &str,
        tool: &str,
        action: &str,
    ) -> Result<AgentTools, AgentError> {
        let enable = |record: &AgentTools, write: &mut RecordWrite| {
            // The toolset may have lost the action since it was disabled.
            if write.disabled_actions.remove(action) {
                Ok(())
            } else {
                self.check_action(record, action)
            }
        };
        self.change(agent, tool, enable).await
    }

    /// Takes an action of a toolset from an agent, by the name that a model would call.
    pub async fn disable_action(
        &self,
        agent: &str,
        tool: &str,
        action: &str,
    ) -> Result<AgentTools, AgentError> {
        let disable = |record: &AgentTools, write: &mut RecordWrite| {
            if write.disabled_actions.insert(action.to_owned()) {
                self.check_action(record, action)
            } else {
                Ok(())
            }
        };
        self.change(agent, tool, disable).await
    }

    /// Puts the tokens of a new grant among the secrets of a record. Other secrets stay, and tokens
    /// of an earlier grant are removed. The record gets a new version, so that its toolset is
    /// configured again.
    ///
    /// Fails with `NotConfigured` if the agent has no record of the toolset. Secrets that do not
    /// open are not overwritten, because other secrets among them would be lost; set them again. If
    /// only tokens were sealed for other settings, the new ones replace them.
    ///
    /// [`connect_for`](Self::connect_for) also compares the settings with those at the time when the person was asked.
    pub async fn connect(
        &self,
        agent: &str,
        tool: &str,
        tokens: Tokens,
    ) -> Result<AgentTools, AgentError> {
        self.put_tokens(agent, tool, &tokens, None).await
    }

    /// Puts the tokens of a grant among the secrets as [`connect`](Self::connect) does. Fails with
    /// `GrantMoved` if the settings are no longer those of this [`GrantDestination::digest`].
    pub async fn connect_for(
        &self,
        agent: &str,
        tool: &str,
        tokens: Tokens,
        digest: &str,
    ) -> Result<AgentTools, AgentError> {
        self.put_tokens(agent, tool, &tokens, Some(digest)).await
    }

    /// Returns where the tokens of a grant that begins now will go. Fails if [`connect`](Self::connect) would fail, so
    /// that no person agrees in vain.
    pub async fn grant_destination(
        &self,
        agent: &str,
        tool: &str,
    ) -> Result<GrantDestination, AgentError> {
        let record = self.record(agent, tool).await?;
        if let Some(sealed) = &record.secrets {
            self.kept_secrets(&record, sealed)
                .map_err(AgentError::about(agent, tool))?;
        }
        let bound = self.bound_settings(tool, &record.config);
        let digest = bound.digest();
        let settings = bound.changed(&BoundSettings::none());
        Ok(GrantDestination {
            digest,
            settings,
            changed: self.changed_destination(&record),
        })
    }

    async fn put_tokens(
        &self,
        agent: &str,
        tool: &str,
        tokens: &Tokens,
        digest: Option<&str>,
    ) -> Result<AgentTools, AgentError> {
        let connect = |record: &AgentTools, write: &mut RecordWrite| {
            if digest
                .is_some_and(|digest| digest != self.bound_settings(tool, &record.config).digest())
            {
                return Err(AgentError::new(agent, tool, AgentErrorKind::GrantMoved));
            }
            let kept = record
                .secrets
                .as_ref()
                .map(|sealed| self.kept_secrets(record, sealed))
                .transpose();
            let secrets = kept
                .map_err(AgentError::about(agent, tool))?
                .unwrap_or_else(SecretDocument::none);
            let secrets = tokens.put_into(&secrets).ok_or_else(|| {
                let error =
                    ToolError::permanent("expected secrets as a JSON object; set them again");
                AgentError::new(agent, tool, AgentErrorKind::Failed(error))
            })?;
            write.secrets = self.seal(write, &secrets)?;
            Ok(())
        };
        self.change(agent, tool, connect).await
    }

    /// Returns JSON pointers of the settings for whose present values the secrets of a record are
    /// not sealed. If there are any, the toolset does not get its secrets: a form asks for them
    /// again.
    ///
    /// Needs no key. An attacker who can write rows can hide such a setting from a form, but cannot
    /// make the secrets open.
    pub fn changed_destination(&self, record: &AgentTools) -> Vec<String> {
        let claimed = record.secrets.as_ref().and_then(SealedSecrets::claimed);
        let changed = claimed
            .map(|claimed| claimed.changed(&self.bound_settings(&record.tool, &record.config)));
        changed.unwrap_or_default()
    }

    /// Returns the settings that decide where the secrets of a toolset go. Of a toolset that is not
    /// registered, only their names are known.
    fn bound_settings(&self, tool: &str, config: &Value) -> BoundSettings {
        match self.form(tool) {
            Some(form) => form.bound_settings(config),
            None => ToolsetMetadata::new(tool, "").bound_settings(config),
        }
    }

    /// Opens the secrets that new tokens are put into. Tokens alone are not kept, so they need not
    /// open.
    fn kept_secrets(
        &self,
        record: &AgentTools,
        sealed: &SealedSecrets,
    ) -> Result<SecretDocument, KeyError> {
        let AgentTools {
            agent,
            tool,
            config,
            ..
        } = record;
        let keys = &self.0.keys;
        match keys.open(agent, tool, &self.bound_settings(tool, config), sealed) {
            Err(error @ KeyError::DestinationChanged { .. }) => {
                let is_replaced =
                    Tokens::are_all_of(&keys.open_sealed(agent, tool, sealed)?.secrets);
                if is_replaced {
                    Ok(SecretDocument::none())
                } else {
                    Err(error)
                }
            }
            outcome => outcome,
        }
    }

    /// Reads a record, changes and writes it, and starts again if another writer has changed it in
    /// between. Writes nothing if `change` leaves the record as it is.
    async fn change(
        &self,
        agent: &str,
        tool: &str,
        change: impl Fn(&AgentTools, &mut RecordWrite) -> Result<(), AgentError>,
    ) -> Result<AgentTools, AgentError> {
        let mut attempts = ATTEMPTS;
        loop {
            let record = self.record(agent, tool).await?;
            let mut write = RecordWrite::of(&record);
            change(&record, &mut write)?;
            if write == RecordWrite::of(&record) {
                return Ok(record);
            }
            attempts -= 1;
            match self.write(write, record.secrets).await {
                Err(AgentError {
                    kind: AgentErrorKind::Store(AgentStoreError::Conflict { .. }),
                    ..
                }) if attempts > 0 => {
                    tokio::task::yield_now().await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Writes a record and returns it as it is then. `kept` are the secrets that stay if the write
    /// keeps them.
    async fn write(
        &self,
        write: RecordWrite,
        kept: Option<SealedSecrets>,
    ) -> Result<AgentTools, AgentError> {
        let version = self
            .0
            .store
            .write(&write)
            .await
            .map_err(AgentError::about(&write.agent, &write.tool))?;
        Ok(write.into_record(version, kept))
    }

    fn registered(&self, agent: &str, tool: &str) -> Result<&Arc<dyn ToolsetFactory>, AgentError> {
        self.0
            .catalog
            .require(tool)
            .map_err(AgentError::about(agent, tool))
    }

    /// Reports every problem of a write: of the settings, of the secrets, and of newly disabled
    /// actions. `secrets` are the new secrets, if the write sets them; `before` is the record that
    /// it changes.
    fn check(
        &self,
        write: &RecordWrite,
        secrets: Option<&SecretDocument>,
        before: Option<&AgentTools>,
    ) -> Result<(), AgentError> {
        let RecordWrite {
            agent,
            tool,
            enabled,
            ..
        } = write;
        let factory = self.registered(agent, tool)?;
        let metadata = factory.metadata();
        let mut problems = Vec::new();
        problems.extend(
            metadata
                .check_config(&write.config)
                .err()
                .map(AgentErrorKind::InvalidConfig),
        );
        // A disabled record may lack secrets, which are then set later.
        let checked = match (secrets, before.and_then(|before| before.secrets.as_ref())) {
            (Some(secrets), _) if *enabled || !is_empty(secrets) => metadata.check_secrets(secrets),
            (None, Some(kept)) if *enabled => {
                match self
                    .0
                    .keys
                    .open(agent, tool, &metadata.bound_settings(&write.config), kept)
                {
                    Ok(kept) => metadata.check_kept_secrets(&kept),
                    // Without the key, or for other settings, they are checked when the toolset is
                    // loaded.
                    Err(_) => Ok(()),
                }
            }
            (None, None) if *enabled => metadata.check_secrets(&SecretDocument::none()),
            _ => Ok(()),
        };
        problems.extend(checked.err().map(AgentErrorKind::InvalidSecrets));
        // The toolset may have lost actions that were disabled before.
        let is_known =
            |action| before.is_some_and(|before| before.disabled_actions.contains(action));
        let disabled = write
            .disabled_actions
            .iter()
            .filter(|action| !is_known(*action));
        problems.extend(disabled.filter_map(|action| unknown_action(&**factory, action)));
        let kind = match problems.len() {
            0 | 1 => problems.pop(),
            _ => Some(AgentErrorKind::Several(problems)),
        };
        kind.map_or(Ok(()), |kind| Err(AgentError::new(agent, tool, kind)))
    }

    fn check_action(&self, record: &AgentTools, action: &str) -> Result<(), AgentError> {
        let factory = self.registered(&record.agent, &record.tool)?;
        let unknown = unknown_action(&**factory, action);
        unknown.map_or(Ok(()), |kind| {
            Err(AgentError::new(&*record.agent, &*record.tool, kind))
        })
    }

    /// Seals new secrets of a record. Empty secrets need no key.
    fn seal(
        &self,
        write: &RecordWrite,
        secrets: &SecretDocument,
    ) -> Result<SecretsWrite, AgentError> {
        if is_empty(secrets) {
            return Ok(SecretsWrite::Clear);
        }
        let bound = self.bound_settings(&write.tool, &write.config);
        let sealed = self.0.keys.seal(&write.agent, &write.tool, &bound, secrets);
        sealed
            .map(SecretsWrite::Set)
            .map_err(AgentError::about(&write.agent, &write.tool))
    }
}

/// The destination of the tokens of a grant. Created by [`Agents::grant_destination`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantDestination {
    /// A digest of the settings that decide it, for [`Agents::connect_for`].
    pub digest: String,
    /// JSON pointers of these settings, without those that have their default. Show their values to
    /// the person who is to agree, as every writer of the record may have chosen them.
    pub settings: Vec<String>,
    /// JSON pointers of those settings that have changed since the present tokens were stored:
    /// [`Agents::changed_destination`].
    pub changed: Vec<String>,
}

/// Checks the id of an agent and, if there is one, the name of a toolset.
pub(crate) fn check_ids(agent: &str, tool: Option<&str>) -> Result<(), AgentError> {
    if is_id(agent) && tool.is_none_or(is_id) {
        return Ok(());
    }
    // Shortened, because an invalid id may be very long.
    let shown = |id: &str| text::truncate(id, 60);
    Err(AgentError::new(
        shown(agent),
        shown(tool.unwrap_or_default()),
        AgentStoreError::InvalidId,
    ))
}

/// Returns an error if the toolset is known not to have the action. Some toolsets have no known
/// actions before they are configured.
fn unknown_action(factory: &dyn ToolsetFactory, action: &str) -> Option<AgentErrorKind> {
    let actions = factory.actions();
    let names = || actions.iter().map(|action| action.name.as_str());
    let is_unknown = !actions.is_empty() && !names().any(|name| name == action);
    is_unknown.then(|| AgentErrorKind::unknown_action(action, names()))
}

fn is_empty(secrets: &SecretDocument) -> bool {
    secrets.with_value(|value| value.as_object().is_some_and(Map::is_empty)) == Some(true)
}

/// A record that is about to be written. Nothing is checked or written before [`save`](Self::save).
///
/// Created by [`Agents::add`] and [`Agents::edit`].
#[derive(Debug)]
#[must_use = "the record is written by `save`"]
pub struct RecordBuilder {
    agents: Agents,
    write: RecordWrite,
    /// True if the settings nest too deep to be stored. They are left out.
    too_deep: bool,
    secrets: Option<SecretDocument>,
    /// The record that is changed.
    before: Option<AgentTools>,
}

impl RecordBuilder {
    /// Sets all settings: a JSON object. Settings are stored as given, and defaults are filled in
    /// when the toolset is configured, so that a new default reaches records that leave the setting
    /// out.
    pub fn config(mut self, config: impl Into<Value>) -> Self {
        let config = unless_deeper(config.into(), MAX_STORED_DEPTH);
        self.too_deep = config.is_none();
        self.write.config = config
            .filter(|config| !config.is_null())
            .unwrap_or_else(|| Value::Object(Map::new()));
        self
    }

    /// Replaces all secrets, tokens of a grant among them, by a JSON object. An empty object
    /// removes them.
    ///
    /// Without this call the secrets stay. If the settings that decide where they go have changed,
    /// for example the URL of a server, the toolset then fails with `DestinationChanged` until the
    /// secrets are set again or the settings restored: see [`Agents::changed_destination`].
    pub fn secrets(mut self, secrets: impl Into<SecretDocument>) -> Self {
        self.secrets = Some(secrets.into());
        self
    }

    /// Enables or disables the record.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.write.enabled = enabled;
        self
    }

    /// Takes an action from the agent, by the name that a model would call.
    pub fn disable_action(mut self, action: impl Into<String>) -> Self {
        self.write.disabled_actions.insert(action.into());
        self
    }

    /// Gives the agent a disabled action back.
    pub fn enable_action(mut self, action: &str) -> Self {
        self.write.disabled_actions.remove(action);
        self
    }

    /// Checks the record, seals its secrets and writes it. Returns it with its new version.
    ///
    /// An enabled record needs the secrets that its toolset requires, except the tokens of a grant.
    /// A disabled record may get them later. Secrets that stay are checked if there is a key to
    /// open them.
    ///
    /// # Errors
    ///
    /// The store is unchanged after an error: `NotRegistered`; `InvalidConfig`, `InvalidSecrets`
    /// and `UnknownAction` with every problem, in `Several` if there is more than one kind; `Key`
    /// if the secrets cannot be sealed; `Store` if the record was added, changed or removed by
    /// another writer, or the store failed.
    pub async fn save(self) -> Result<AgentTools, AgentError> {
        let Self {
            agents,
            mut write,
            too_deep,
            secrets,
            before,
        } = self;
        check_ids(&write.agent, Some(&write.tool))?;
        if too_deep {
            let problem = Problem::too_deep(MAX_STORED_DEPTH);
            return Err(AgentError::new(
                write.agent,
                write.tool,
                AgentErrorKind::InvalidConfig(problem.into()),
            ));
        }
        agents.check(&write, secrets.as_ref(), before.as_ref())?;
        if let Some(secrets) = &secrets {
            write.secrets = agents.seal(&write, secrets)?;
        }
        agents
            .write(write, before.and_then(|before| before.secrets))
            .await
    }
}

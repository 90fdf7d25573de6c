//! What has to be right about a record before it is written.

use crate::actions::Action;
use crate::agents::{AgentErrorKind, AgentTools, Agents, RecordWrite};
use crate::arguments::nearest;
use crate::configure::{SecretDocument, ToolsetFactory};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The secrets that a record will have.
pub(super) enum Given<'a> {
    /// These.
    Secrets(&'a SecretDocument),
    /// Those that are sealed in it, as far as they can be opened here: whoever loads the others judges them.
    Kept(Option<&'a SecretDocument>),
    /// None.
    None,
}

/// The secrets that stay in a record, opened where there is a key: some may be missing in one that was not enabled when
/// they were given, or before a grant was put among them.
pub(super) fn kept(agents: &Agents, record: &AgentTools) -> Option<SecretDocument> {
    agents.0.keys.open(&record.agent, &record.tool, record.secrets.as_ref()?).ok()
}

/// A write, and what it is held to.
pub(super) struct Checked<'a> {
    pub(super) factory: &'a Arc<dyn ToolsetFactory>,
    pub(super) write: &'a RecordWrite,
    pub(super) given: Given<'a>,
    /// Actions that are disabled already: they may be gone from the toolset, and do no harm.
    pub(super) known: Option<&'a BTreeSet<String>>,
}

impl Checked<'_> {
    /// Everything that is wrong.
    pub(super) fn outcome(&self) -> Result<(), AgentErrorKind> {
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
pub(super) fn unknown_action(actions: &[Action], action: &str) -> Option<AgentErrorKind> {
    let names = || actions.iter().map(|action| action.name.as_str());
    let unknown = !actions.is_empty() && !names().any(|name| name == action);
    unknown.then(|| AgentErrorKind::UnknownAction {
        action: crate::text::truncate(action, 60),
        nearest: nearest(action, names()).map(str::to_owned),
    })
}

fn is_empty(secrets: &SecretDocument) -> bool {
    secrets.with_value(|value| value.as_object().is_some_and(serde_json::Map::is_empty)) == Some(true)
}

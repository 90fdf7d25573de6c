//! Tools of a server that are not offered, or no longer offered.

use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tool_core::RegistryErrors;
use tool_core::text::{escape_invisible, truncate};
use tool_core::tool::UriTemplateError;

/// A tool, prompt or resource of the server that is not offered, or no longer offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {reason}", name.escape_debug())]
#[non_exhaustive]
pub struct QuarantinedTool {
    /// The name that the server gives the tool, `prompt:` and the name of a prompt, or `resource:`
    /// and the URI or template of a resource. Names of more than 200 characters are cut.
    pub name: String,
    /// The reason.
    pub reason: QuarantineReason,
}

/// The reason why a tool is not offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuarantineReason {
    /// These members of its declaration differ from its pin.
    #[error("has changed since it was pinned, in {}: review it, and forget its pin to trust it again", .0.join(", "))]
    Changed(Vec<&'static str>),
    /// It is not pinned, and [`pinned_only`](super::McpClient::pinned_only) is set.
    #[error("is not pinned, and only pinned tools are imported")]
    NotPinned,
    /// It was added after the import. [Importing again](super::ImportedToolset::import_again) makes
    /// it available.
    #[error("was added after the import; import again to use it")]
    Added,
    /// The server no longer lists it. It is offered again once the server lists it as before.
    #[error("was removed by its server")]
    Removed,
    /// The server lists the name more than once.
    #[error("is listed more than once")]
    Duplicate,
    /// The host's user has switched it off, by this setting.
    #[error("is switched off by `{0}` of the configuration")]
    SwitchedOff(String),
    /// Its name, or a name in its schemas, has a key that this client sends. Such a name cannot be
    /// masked.
    #[error(
        "has a key of this client in its name or in the name of an argument; ask its server why, and use another key"
    )]
    HasKey,
    /// It cannot be registered, such as for its name or its schema.
    #[error("cannot be registered: {}", messages(.0))]
    Invalid(RegistryErrors),
    /// It has not the form of the protocol.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is a list, such as `tools/list`, that is longer than is read, or whose pages have no end.
    #[error("has no end, or more than 10,000 entries or 8 MiB; its rest is left out")]
    Endless,
    /// It is a resource with a URI or a template that this library does not know.
    #[error("cannot be registered: {0}")]
    InvalidUri(UriTemplateError),
}

/// Returns the messages only, as the errors' source locations are in this library.
pub fn messages(errors: &RegistryErrors) -> String {
    errors
        .iter()
        .map(|error| error.message.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Maximum number of characters of a name.
const MAX_NAME: usize = 200;

/// Returns the name under which a tool is kept.
fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_NAME {
        name.into()
    } else {
        truncate(name, MAX_NAME).into()
    }
}

/// The quarantined tools of a server, as far as they are kept.
#[derive(Default)]
pub(crate) struct Quarantine(Mutex<Quarantined>);

#[derive(Default)]
struct Quarantined {
    tools: BTreeMap<String, QuarantinedTool>,
    /// The number of tools that are kept although they were never offered.
    foreign: usize,
    /// The tools that were logged, and those that were not, since the last check of the list.
    logged: usize,
    unlogged: usize,
}

impl Quarantine {
    /// Maximum number of tools that are kept although they were never offered.
    const MAX_FOREIGN: usize = 1_000;

    /// Maximum number of tools that one check of the list logs.
    const MAX_LOGGED: usize = 20;

    const MAX_LINE: usize = 800;

    /// Adds a tool. A tool that was never offered is left out if there are too many.
    pub(crate) fn add(&self, server: &str, name: &str, is_offered: bool, reason: QuarantineReason) {
        let name = short(name).into_owned();
        let tool = QuarantinedTool {
            name: name.clone(),
            reason,
        };
        let mut quarantined = self.0.lock();
        if quarantined.tools.get(&name) == Some(&tool) {
            return;
        }
        if matches!(tool.reason, QuarantineReason::SwitchedOff(_)) {
            tracing::debug!(server = %server.escape_debug(), tool = %name.escape_debug(), "left out a tool");
        } else if quarantined.logged < Self::MAX_LOGGED {
            quarantined.logged += 1;
            let tool = truncate(&escape_invisible(&tool.to_string()), Self::MAX_LINE);
            tracing::warn!(server = %server.escape_debug(), tool, "quarantined a tool");
        } else {
            quarantined.unlogged += 1;
        }
        if !is_offered && !quarantined.tools.contains_key(&name) {
            if quarantined.foreign >= Self::MAX_FOREIGN {
                return;
            }
            quarantined.foreign += 1;
        }
        quarantined.tools.insert(name, tool);
    }

    /// Logs the number of tools that were not logged, at the end of a check of the list.
    pub(crate) fn end_check(&self, server: &str) {
        let mut quarantined = self.0.lock();
        quarantined.logged = 0;
        let more = std::mem::take(&mut quarantined.unlogged);
        if more > 0 {
            tracing::warn!(server = %server.escape_debug(), more, "quarantined more tools");
        }
    }

    /// Offers a removed tool again.
    pub(crate) fn restore(&self, name: &str) {
        let mut quarantined = self.0.lock();
        let name = short(name);
        if quarantined
            .tools
            .get(&*name)
            .is_some_and(|tool| tool.reason == QuarantineReason::Removed)
        {
            quarantined.tools.remove(&*name);
        }
    }

    /// Offers a tool, because it agrees with its pin at an import.
    pub(crate) fn lift(&self, name: &str) {
        self.0.lock().tools.remove(&*short(name));
    }

    pub(crate) fn all(&self) -> Vec<QuarantinedTool> {
        self.0.lock().tools.values().cloned().collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<QuarantinedTool> {
        self.0.lock().tools.get(&*short(name)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tool_core::{FunctionTool, RawTool, RunContext, ToolContext};

    // C21
    #[test]
    fn reasons_show_no_file_of_this_library() {
        let raw = RawTool {
            name: "a b".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        let tool = FunctionTool::raw(raw, async |arguments: Value, _: &RunContext| Ok(arguments));
        let errors = ToolContext::builder()
            .with(tool)
            .build()
            .expect_err("an invalid name");
        assert!(errors.to_string().contains(".rs"), "{errors}");
        let reason = QuarantineReason::Invalid(errors).to_string();
        assert!(
            reason.contains("invalid raw tool name") && !reason.contains(".rs"),
            "{reason}"
        );
    }
}

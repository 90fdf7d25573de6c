//! Tools of a server that are not offered, or no longer offered.

use crate::client::pins::{Declaration, MAX_PINS};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use tool_core::RegistryErrors;
use tool_core::text::{escape_invisible, hex, truncate};
use tool_core::tool::UriTemplateError;

/// A tool, prompt or resource of the server that is not offered, or no longer offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {reason}", name.escape_debug())]
#[non_exhaustive]
pub struct QuarantinedTool {
    /// The name that the server gives the tool, `prompt:` and the name of a prompt, or `resource:`
    /// and the URI or template of a resource. A name of more than 2,100 bytes is cut, and ends with
    /// a hash of the whole.
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
    /// It cannot be pinned, as its server has 20,000 pins.
    #[error(
        "cannot be pinned, as its server has {MAX_PINS} pins; forget those that it no longer has"
    )]
    PinsFull,
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

/// Maximum number of bytes of a name. It has room for every URI that can be imported.
const MAX_NAME: usize = 2_100;

/// The characters that are kept of a longer name.
const KEPT_CHARACTERS: usize = 200;

/// Returns the name under which a tool is kept. No two names share one.
fn kept_name(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_NAME {
        return name.into();
    }
    let start = truncate(name, KEPT_CHARACTERS);
    let hash = hex(&Sha256::digest(name));
    format!("{start} {hash}").into()
}

/// The quarantined tools of a server, as far as they are kept.
#[derive(Default)]
pub(crate) struct Quarantine(Mutex<Quarantined>);

#[derive(Default)]
struct Quarantined {
    tools: BTreeMap<String, KeptTool>,
    /// The number of tools that are kept although they were never offered, without the added ones.
    foreign: usize,
    /// The number of added tools. They have room of their own, as they are offered at the next
    /// import.
    added: usize,
    /// The tools that were logged, and those that were not, since the last check of the list.
    logged: usize,
    unlogged: usize,
}

struct KeptTool {
    tool: QuarantinedTool,
    /// True if it was never offered.
    is_foreign: bool,
    /// The list that it is in, if it is new there. It is forgotten once it leaves the list.
    new_in: Option<Declaration>,
}

impl KeptTool {
    /// Keeps a tool that was never offered.
    fn new(name: &str, reason: QuarantineReason) -> Self {
        let name = kept_name(name).into_owned();
        Self {
            tool: QuarantinedTool { name, reason },
            is_foreign: true,
            new_in: None,
        }
    }

    fn is_added(&self) -> bool {
        self.tool.reason == QuarantineReason::Added
    }
}

impl Quarantined {
    /// Returns the number of tools that share the room of a tool which was never offered.
    fn beside(&mut self, kept: &KeptTool) -> &mut usize {
        if kept.is_added() {
            &mut self.added
        } else {
            &mut self.foreign
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(removed) = self.tools.remove(name)
            && removed.is_foreign
        {
            *self.beside(&removed) -= 1;
        }
    }

    fn insert(&mut self, kept: KeptTool) {
        let name = kept.tool.name.clone();
        self.remove(&name);
        if kept.is_foreign {
            *self.beside(&kept) += 1;
        }
        self.tools.insert(name, kept);
    }
}

impl Quarantine {
    /// Maximum number of tools that are kept although they were never offered, and of added ones.
    const MAX_FOREIGN: usize = 1_000;

    /// Maximum number of tools that one check of the list logs.
    const MAX_LOGGED: usize = 20;

    const MAX_LINE: usize = 800;

    /// Adds a tool. A tool that was never offered is left out if there are too many.
    pub(crate) fn add(&self, server: &str, name: &str, is_offered: bool, reason: QuarantineReason) {
        let mut kept = KeptTool::new(name, reason);
        kept.is_foreign = !is_offered;
        self.keep(server, kept);
    }

    /// Adds an entry of a list that was not offered before.
    pub(crate) fn add_new(
        &self,
        server: &str,
        name: &str,
        list: Declaration,
        reason: QuarantineReason,
    ) {
        let mut kept = KeptTool::new(name, reason);
        kept.new_in = Some(list);
        self.keep(server, kept);
    }

    fn keep(&self, server: &str, kept: KeptTool) {
        let mut quarantined = self.0.lock();
        let tool = &kept.tool;
        let name = &tool.name;
        let known = quarantined.tools.get(name);
        if known.is_some_and(|known| known.tool == *tool) {
            return;
        }
        let was_added = known.is_some_and(KeptTool::is_added);
        // An added tool has its place in another room.
        let has_place = known.is_some() && !was_added;
        if matches!(tool.reason, QuarantineReason::SwitchedOff(_)) {
            tracing::debug!(server = %server.escape_debug(), tool = %name.escape_debug(), "left out a tool");
        } else if quarantined.logged < Self::MAX_LOGGED {
            quarantined.logged += 1;
            let tool = truncate(&escape_invisible(&tool.to_string()), Self::MAX_LINE);
            tracing::warn!(server = %server.escape_debug(), tool, "quarantined a tool");
        } else {
            quarantined.unlogged += 1;
        }
        let has_room = *quarantined.beside(&kept) < Self::MAX_FOREIGN;
        if has_place || has_room || !kept.is_foreign {
            quarantined.insert(kept);
        } else if was_added {
            quarantined.remove(&kept.tool.name);
        }
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
        let name = kept_name(name);
        if quarantined
            .tools
            .get(&*name)
            .is_some_and(|kept| kept.tool.reason == QuarantineReason::Removed)
        {
            quarantined.remove(&name);
        }
    }

    /// Offers a tool, because it agrees with its pin at an import.
    pub(crate) fn lift(&self, name: &str) {
        self.0.lock().remove(&kept_name(name));
    }

    /// Forgets the new entries of a list that it no longer has.
    pub(crate) fn forget_new(&self, list: Declaration, listed: &HashSet<&str>) {
        let listed = listed
            .iter()
            .map(|name| kept_name(name))
            .collect::<HashSet<_>>();
        let mut quarantined = self.0.lock();
        let is_gone = |kept: &KeptTool| {
            kept.new_in == Some(list) && !listed.contains(kept.tool.name.as_str())
        };
        let gone = quarantined
            .tools
            .values()
            .filter(|kept| is_gone(kept))
            .map(|kept| kept.tool.name.clone())
            .collect::<Vec<_>>();
        for name in gone {
            quarantined.remove(&name);
        }
    }

    pub(crate) fn all(&self) -> Vec<QuarantinedTool> {
        let quarantined = self.0.lock();
        let tools = quarantined.tools.values();
        tools.map(|kept| kept.tool.clone()).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<QuarantinedTool> {
        let quarantined = self.0.lock();
        let kept = quarantined.tools.get(&*kept_name(name))?;
        Some(kept.tool.clone())
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

    fn names(quarantine: &Quarantine) -> Vec<String> {
        let quarantined = quarantine.all().into_iter();
        quarantined.map(|tool| tool.name).collect()
    }

    // T33
    #[test]
    fn long_names_with_one_beginning_are_told_apart() {
        let quarantine = Quarantine::default();
        for length in [300, 3_000] {
            let long = format!("resource:a://{}", "x".repeat(length));
            let other = format!("{long}y");
            quarantine.add("acme", &long, true, QuarantineReason::Removed);
            assert!(quarantine.get(&long).is_some(), "{length}");
            assert!(quarantine.get(&other).is_none(), "{length}");
            quarantine.restore(&other);
            assert!(quarantine.get(&long).is_some(), "{length}");
        }
    }

    // G3
    #[test]
    fn the_name_of_a_quarantined_uri_is_whole() {
        let quarantine = Quarantine::default();
        let long = format!("resource:a://{}", "x".repeat(2_000));
        quarantine.add("acme", &long, true, QuarantineReason::Removed);
        assert_eq!(names(&quarantine), [long]);
    }

    // T33
    #[test]
    fn tools_that_are_offered_make_room_for_new_ones() {
        let quarantine = Quarantine::default();
        for at in 0..3 * Quarantine::MAX_FOREIGN {
            let name = format!("tool_{at}");
            quarantine.add_new("acme", &name, Declaration::Tool, QuarantineReason::Added);
            assert!(quarantine.get(&name).is_some(), "{name}");
            quarantine.lift(&name);
        }
    }

    // T33
    #[test]
    fn added_tools_have_room_beside_those_never_offered() {
        let quarantine = Quarantine::default();
        for at in 0..=Quarantine::MAX_FOREIGN {
            let reason = QuarantineReason::SwitchedOff("enabledTools".to_owned());
            quarantine.add("acme", &format!("off_{at}"), false, reason);
        }
        quarantine.add_new("acme", "new", Declaration::Tool, QuarantineReason::Added);
        let added = quarantine.get("new").expect("it is kept");
        assert_eq!(added.reason, QuarantineReason::Added);
    }

    // T33
    #[test]
    fn added_tools_that_are_not_offered_fill_no_memory() {
        let quarantine = Quarantine::default();
        for at in 0..3 * Quarantine::MAX_FOREIGN {
            let name = format!("tool_{at}");
            quarantine.add_new("acme", &name, Declaration::Tool, QuarantineReason::Added);
            quarantine.add("acme", &name, false, QuarantineReason::NotPinned);
        }
        assert_eq!(names(&quarantine).len(), Quarantine::MAX_FOREIGN);
    }

    // T33
    #[test]
    fn new_entries_that_leave_their_list_are_forgotten() {
        let quarantine = Quarantine::default();
        let add = |name: &str, list: Declaration| {
            quarantine.add_new("acme", name, list, QuarantineReason::Added);
        };
        add("stays", Declaration::Tool);
        add("goes", Declaration::Tool);
        add("prompt:other", Declaration::Prompt);
        quarantine.add("acme", "tools/list", false, QuarantineReason::Endless);
        quarantine.forget_new(Declaration::Tool, &HashSet::from(["stays"]));
        assert_eq!(names(&quarantine), ["prompt:other", "stays", "tools/list"]);
    }
}

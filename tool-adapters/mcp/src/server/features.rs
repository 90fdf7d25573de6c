//! The parts of the protocol that a server's tools need: its capabilities, and the methods that it
//! serves.

use crate::server::session::ServerState;
use rmcp::model::{
    JsonObject, PromptsCapability, ResourcesCapability, SKILLS_EXTENSION_ID, ServerCapabilities,
    TASKS_EXTENSION_ID,
};
use std::sync::OnceLock;
use tool_core::ToolContext;

/// The parts of the protocol that are served beside tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of the protocol"
)]
pub(crate) struct Features {
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
    /// True if tools have guides that are served.
    pub(crate) skills: bool,
}

/// The part of the protocol that a method belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Tools,
    Prompts,
    Resources,
    Completions,
    /// Calls that go on as tasks.
    Tasks,
    /// The guides of tools as skills.
    Skills,
    /// Changes of tools, prompts and resources.
    Changes,
}

/// The revisions that have a method, or that a transport serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revisions {
    All,
    WithSessions,
    WithoutSessions,
}

/// The methods that are served, in the order in which they are listed.
const METHODS: [(&str, Part, Revisions); 20] = [
    ("initialize", Part::Tools, Revisions::WithSessions),
    ("server/discover", Part::Tools, Revisions::All),
    ("ping", Part::Tools, Revisions::WithSessions),
    ("logging/setLevel", Part::Tools, Revisions::WithSessions),
    ("tools/list", Part::Tools, Revisions::All),
    ("tools/call", Part::Tools, Revisions::All),
    ("tasks/get", Part::Tasks, Revisions::All),
    ("tasks/update", Part::Tasks, Revisions::All),
    ("tasks/cancel", Part::Tasks, Revisions::All),
    ("prompts/list", Part::Prompts, Revisions::All),
    ("prompts/get", Part::Prompts, Revisions::All),
    ("resources/list", Part::Resources, Revisions::All),
    ("resources/templates/list", Part::Resources, Revisions::All),
    ("resources/read", Part::Resources, Revisions::All),
    (
        "resources/subscribe",
        Part::Resources,
        Revisions::WithSessions,
    ),
    (
        "resources/unsubscribe",
        Part::Resources,
        Revisions::WithSessions,
    ),
    ("completion/complete", Part::Completions, Revisions::All),
    ("skills/list", Part::Skills, Revisions::All),
    ("skills/get", Part::Skills, Revisions::All),
    (
        "subscriptions/listen",
        Part::Changes,
        Revisions::WithoutSessions,
    ),
];

/// The methods of the requests that are served to a client.
#[derive(Clone, Copy)]
pub(crate) struct ServedMethods<'a> {
    state: &'a ServerState,
    revisions: Revisions,
}

/// The features of a context without guides and with them, found once.
#[derive(Default)]
struct FoundFeatures([OnceLock<Features>; 2]);

impl Features {
    /// Returns the features that a context needs. `guides` is true where the guides of tools are
    /// served, too.
    pub(crate) fn of(tools: &ToolContext, guides: bool) -> Self {
        *tools.memo::<FoundFeatures>().0[usize::from(guides)].get_or_init(|| {
            let guides = guides && tools.definitions().any(|tool| tool.guide().is_some());
            let completes = tools.prompts().iter().any(|prompt| {
                prompt
                    .definition()
                    .arguments
                    .iter()
                    .any(|argument| argument.completes)
            }) || tools
                .resources()
                .iter()
                .any(|resource| !resource.definition().completes.is_empty());
            Self {
                prompts: guides || !tools.prompts().is_empty(),
                resources: guides || !tools.resources().is_empty(),
                completions: completes,
                skills: guides,
            }
        })
    }

    /// Returns true if prompts or resources may change.
    fn has_changes(self) -> bool {
        self.prompts || self.resources
    }

    #[expect(
        deprecated,
        reason = "revision 2026-07-28 deprecates logging, and still serves it"
    )]
    fn capabilities(self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .build();
        capabilities.prompts = self.prompts.then(|| {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            prompts
        });
        capabilities.resources = self.resources.then(|| {
            let mut resources = ResourcesCapability::default();
            (resources.subscribe, resources.list_changed) = (Some(true), Some(true));
            resources
        });
        capabilities.completions = self.completions.then(Default::default);
        capabilities
    }
}

impl ServerState {
    /// Returns the features that a context needs under the settings of the server.
    pub(crate) fn features(&self, tools: &ToolContext) -> Features {
        let needed = Features::of(tools, self.settings.guides);
        if self.settings.all_features {
            return Features {
                prompts: true,
                resources: true,
                completions: true,
                ..needed
            };
        }
        needed
    }

    /// Returns the capabilities that the server declares for the tools of a context.
    pub(crate) fn capabilities(&self, tools: &ToolContext) -> ServerCapabilities {
        let mut capabilities = self.features(tools).capabilities();
        if self.settings.tools_change {
            capabilities.tools.get_or_insert_default().list_changed = Some(true);
        }
        let skills = self.features(tools).skills;
        for (id, served) in [
            (TASKS_EXTENSION_ID, self.settings.tasks.is_some()),
            (SKILLS_EXTENSION_ID, skills),
        ] {
            if served {
                let extensions = capabilities.extensions.get_or_insert_default();
                extensions.insert(id.to_owned(), JsonObject::new());
            }
        }
        capabilities
    }

    /// Returns true if clients are notified of changes.
    pub(crate) fn has_changes(&self, tools: &ToolContext) -> bool {
        self.settings.tools_change || self.features(tools).has_changes()
    }

    /// Returns the methods that are served to a client whose session is not known yet.
    pub(crate) fn served(&self, revisions: Revisions) -> ServedMethods<'_> {
        ServedMethods {
            state: self,
            revisions,
        }
    }
}

impl ServedMethods<'_> {
    /// Returns the names of the methods.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let is_of =
            move |of| [of, self.revisions].contains(&Revisions::All) || of == self.revisions;
        let of_revision = METHODS.into_iter().filter(move |(.., of)| is_of(*of));
        of_revision
            .filter(move |(_, part, _)| self.has(*part))
            .map(|(name, ..)| name)
    }

    fn has(self, part: Part) -> bool {
        let settings = &self.state.settings;
        // The host may give each session other tools.
        let needed = |needs: fn(Features) -> bool| {
            settings.configure_session.is_some()
                || needs(self.state.features(&self.state.runtime.tools()))
        };
        match part {
            Part::Tools => true,
            Part::Tasks => settings.tasks.is_some(),
            Part::Prompts => needed(|features| features.prompts),
            Part::Resources => needed(|features| features.resources),
            Part::Completions => needed(|features| features.completions),
            Part::Skills => needed(|features| features.skills),
            Part::Changes => settings.tools_change || needed(Features::has_changes),
        }
    }
}

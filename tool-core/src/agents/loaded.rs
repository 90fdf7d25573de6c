//! An agent's tools as they were made of its records at one moment.

use crate::agents::Shared;
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::grant::Grant;
use crate::agents::scrub::Scrub;
use crate::call::error;
use crate::call::error::ToolError;
use crate::registry::ToolContext;
use crate::registry::errors::RegistryErrors;
use crate::registry::lifecycle::Kept;
use crate::session::control_tools::companions;
use crate::tool::definition::normalised;
use crate::tool::function::FunctionTool;
use crate::tool::toolset::{Tool, Toolset};
use crate::trace::redaction::Redaction;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

/// The tools of an agent, as they were made of its records at one moment. It stays what it is when the records change.
pub struct LoadedAgent {
    pub(crate) agent: Arc<str>,
    pub(crate) version: u64,
    pub(crate) tools: ToolContext,
    pub(crate) failures: Vec<AgentError>,
    /// By the toolsets' names.
    pub(crate) pieces: Vec<Piece>,
    /// When it was made, or the grants of copied tokens were looked at.
    pub(crate) made: Instant,
    /// When what failed is tried again.
    pub(crate) retry_at: Option<Instant>,
}

/// What became of one record.
#[derive(Clone)]
pub(crate) struct Piece {
    /// The toolset's name.
    pub(crate) tool: String,
    /// The record's version.
    pub(crate) version: u64,
    pub(crate) disabled_actions: BTreeSet<String>,
    pub(crate) state: State,
}

#[derive(Clone)]
pub(crate) enum State {
    /// The record is.
    Disabled,
    Failed(AgentErrorKind),
    Live(Arc<Live>),
}

impl LoadedAgent {
    /// The agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The version of the records that it was made of; 0 where there never was one.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The tools: those that every agent has, then those of the agent's toolsets, by the toolsets' names.
    ///
    /// The toolsets stay open for as long as this context is held, or one that was made of it; in a session, until it
    /// ends. A session holds them for itself alone: a clone of [`Session::tools`](crate::Session::tools) does not keep
    /// them open any longer.
    pub fn tools(&self) -> &ToolContext {
        &self.tools
    }

    /// The toolsets that are left out, and why, by their names. Those that are disabled are not among them.
    pub fn failures(&self) -> &[AgentError] {
        &self.failures
    }

    /// What became of the record of a toolset.
    pub(crate) fn piece(&self, tool: &str) -> Option<&Piece> {
        let at = self.pieces.binary_search_by(|piece| piece.tool.as_str().cmp(tool)).ok()?;
        self.pieces.get(at)
    }

    /// Whether something has to be made anew although no record has changed.
    pub(crate) fn is_due(&self, retry: Duration) -> bool {
        let now = Instant::now();
        self.retry_at.is_some_and(|at| at <= now) || self.pieces.iter().any(|piece| self.is_stale(piece, retry, now))
    }

    /// Whether what is in it can be used: no toolset has a copy of a token that has expired.
    pub(crate) fn works(&self) -> bool {
        let mut copied = self.pieces.iter().filter_map(|piece| piece.live()?.copied.as_deref());
        !copied.any(has_expired)
    }

    /// Whether a toolset has a copy of a token that is no longer good, or was last refreshed in vain a while ago.
    pub(crate) fn is_stale(&self, piece: &Piece, retry: Duration, now: Instant) -> bool {
        let State::Live(live) = &piece.state else { return false };
        live.copied.as_ref().is_some_and(|grant| {
            grant.is_due() && (has_expired(grant) || now.saturating_duration_since(self.made) >= retry)
        })
    }
}

fn has_expired(grant: &Grant) -> bool {
    grant.expires_at().is_some_and(|at| *at <= jiff::Timestamp::now())
}

impl std::fmt::Debug for LoadedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedAgent")
            .field("agent", &self.agent)
            .field("version", &self.version)
            .field("tools", &self.tools)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

// ---- A toolset that was opened for an agent: its tools, and its end when nobody holds it any more.

/// A toolset that was opened. The cache holds it, every context that has its tools, and every session until it ends;
/// when the last of them lets go it is closed, on the tokio runtime that opened it.
pub(crate) struct Instance {
    pub(crate) agent: Arc<str>,
    pub(crate) tool: String,
    /// The toolset alone, with the nested ones that did open.
    pub(crate) opened: ToolContext,
    pub(crate) scrub: Arc<Scrub>,
    /// How long closing may take.
    pub(crate) within: Duration,
    pub(crate) runtime: Handle,
    /// Those that are being closed.
    pub(crate) closing: TaskTracker,
}

impl Drop for Instance {
    fn drop(&mut self) {
        let (opened, scrub, within) = (self.opened.clone(), Arc::clone(&self.scrub), self.within);
        let (agent, tool) = (Arc::clone(&self.agent), std::mem::take(&mut self.tool));
        let close = async move {
            let (agent, tool) = (agent.escape_debug(), tool.escape_debug());
            let Ok(failures) = timeout(within, opened.close()).await else {
                tracing::error!(%agent, toolset = %tool, ?within, "a toolset did not close in time");
                return;
            };
            for failure in failures {
                let error = Redaction::new().text(scrub.error(failure.error).message());
                tracing::error!(%agent, toolset = %tool, %error, "a toolset did not close");
            }
        };
        self.closing.spawn_on(close, &self.runtime);
    }
}

/// What an agent has of a toolset that works.
pub(crate) struct Live {
    pub(crate) instance: Arc<Instance>,
    /// Its tools, without those that the record disables. The same in every context that is made of it.
    pub(crate) toolset: Arc<dyn Toolset>,
    /// The names of its function tools, of the disabled ones too.
    pub(crate) actions: Vec<String>,
    /// Why some of the toolsets in it did not open.
    pub(crate) failures: Vec<AgentErrorKind>,
    /// The grant, where the toolset has but a copy of its token.
    pub(crate) copied: Option<Arc<Grant>>,
}

impl Live {
    pub(crate) fn new(
        instance: Arc<Instance>,
        disabled: &BTreeSet<String>,
        failures: Vec<AgentErrorKind>,
        copied: Option<Arc<Grant>>,
    ) -> Self {
        let opened = &instance.opened;
        let actions = opened.function_tools().iter().map(|tool| tool.name().to_owned()).collect();
        let tools = opened.flatten().filter(|tool| !(tool.is_function_tool() && disabled.contains(tool.id())));
        let scrubbed = |tool| match tool {
            Tool::Function(tool) => {
                let scrub = Arc::clone(&instance.scrub);
                Tool::Function(tool.scrubbed_by(Arc::new(move |error| scrub.error(error))))
            }
            other => other,
        };
        let toolset = Arc::new(Offered {
            id: instance.tool.clone(),
            of: opened.toolsets().first().cloned(),
            tools: tools.map(scrubbed).collect(),
        });
        Self { instance, toolset, actions, failures, copied }
    }
}

/// The tools of a toolset that are offered. Who opens and closes the toolset is decided elsewhere.
struct Offered {
    id: String,
    of: Option<Arc<dyn Toolset>>,
    tools: Vec<Tool>,
}

impl Toolset for Offered {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> &str {
        self.of.as_ref().map_or("", |of| of.description())
    }

    fn title(&self) -> Option<&str> {
        self.of.as_ref()?.title()
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }
}

// ---- From the toolsets that work to the agent's tools. A6

/// An agent that these pieces make up, which are sorted by their names. `before`: what the agent had until now.
pub(crate) fn assemble(
    shared: &Shared,
    agent: &Arc<str>,
    version: u64,
    mut pieces: Vec<Piece>,
    before: Option<&LoadedAgent>,
) -> LoadedAgent {
    leave_out_collisions(shared, &mut pieces);
    let same = before.filter(|before| same_tools(&before.pieces, &pieces));
    let tools = match same {
        Some(before) => before.tools.clone(),
        None => context(shared, agent, &pieces).unwrap_or_else(|error| {
            // Each was checked by itself, and no two have a name in common.
            tracing::error!(agent = %agent.escape_debug(), %error, "an agent's tools do not fit together");
            shared.base.clone()
        }),
    };
    let failures = pieces.iter().flat_map(|piece| failures(agent, piece)).collect::<Vec<_>>();
    // What collides does so until a record changes.
    let worth_retrying = failures.iter().any(|failure| !matches!(failure.kind, AgentErrorKind::Collision(_)));
    let made = Instant::now();
    let retry_at = worth_retrying.then(|| made.checked_add(shared.settings.retry_failed)).flatten();
    LoadedAgent { agent: Arc::clone(agent), version, tools, failures, pieces, made, retry_at }
}

fn context(shared: &Shared, agent: &Arc<str>, pieces: &[Piece]) -> Result<ToolContext, RegistryErrors> {
    let live = || pieces.iter().filter_map(|piece| piece.live());
    let instances = live().map(|live| Arc::clone(&live.instance)).collect::<Vec<_>>();
    let base = shared.base.parts().checked().agent(Arc::clone(agent));
    let tools = live().fold(base, |tools, live| tools.with(Arc::clone(&live.toolset)));
    tools.keep(Arc::new(instances) as Kept).build()
}

/// Of two that have a name in common the first keeps its tools, and the other is left out.
fn leave_out_collisions(shared: &Shared, pieces: &mut [Piece]) {
    let base = shared.base.function_tools();
    let mut taken = HashMap::new();
    taken.extend(base.iter().map(|tool| (normalised(tool.name()), "every agent".to_owned())));
    if pieces.iter().flat_map(offered).chain(base.iter().cloned()).any(|tool| tool.definition().flags().cancellable) {
        // The runtime puts its own beside them.
        taken.extend(companions().iter().map(|tool| (normalised(tool.name()), "the runtime".to_owned())));
    }
    for piece in pieces {
        let tools = offered(piece);
        let collisions = tools.iter().filter_map(|tool| {
            let owner = taken.get(&normalised(tool.name()))?;
            Some(format!("`{}` is a tool of {owner}", tool.name().escape_debug()))
        });
        let collisions = collisions.collect::<Vec<_>>();
        if collisions.is_empty() {
            let owner = format!("toolset `{}`", piece.tool.escape_debug());
            taken.extend(tools.iter().map(|tool| (normalised(tool.name()), owner.clone())));
        } else {
            let why = format!("{}; give one of them a `prefix`, or disable the action", collisions.join(", "));
            piece.state = State::Failed(AgentErrorKind::Collision(why));
        }
    }
}

/// The function tools of a piece that works.
fn offered(piece: &Piece) -> Vec<FunctionTool> {
    let tools = piece.live().map(|live| Arc::clone(&live.toolset).tools()).unwrap_or_default();
    let functions = tools.into_iter().filter_map(|tool| match tool {
        Tool::Function(tool) => Some(tool),
        Tool::Provider(_) | Tool::Toolset(_) => None,
    });
    functions.collect()
}

/// Whether the same instances work in both, so that their context is the same.
fn same_tools(before: &[Piece], now: &[Piece]) -> bool {
    let live = |pieces: &[Piece]| pieces.iter().filter_map(Piece::live).map(Arc::as_ptr).collect::<Vec<_>>();
    live(before) == live(now)
}

fn failures(agent: &str, piece: &Piece) -> Vec<AgentError> {
    let kinds = match &piece.state {
        State::Disabled => Vec::new(),
        State::Failed(kind) => vec![kind.clone()],
        State::Live(live) => live.failures.clone(),
    };
    kinds.into_iter().map(|kind| AgentError::new(agent, &piece.tool, kind)).collect()
}

impl Piece {
    pub(crate) fn live(&self) -> Option<&Arc<Live>> {
        match &self.state {
            State::Live(live) => Some(live),
            State::Disabled | State::Failed(_) => None,
        }
    }
}

/// An internal error that the log tells of, where there is one.
pub(crate) fn internal(kind: &AgentErrorKind) -> Option<&ToolError> {
    match kind {
        AgentErrorKind::Failed(error) if error.kind() == error::ErrorKind::Internal => Some(error),
        _ => None,
    }
}

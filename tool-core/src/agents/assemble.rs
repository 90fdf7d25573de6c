//! From the toolsets that work to the agent's tools. A6

use super::loaded::{LoadedAgent, Piece, State};
use super::{AgentError, AgentErrorKind, Shared};
use crate::context::{Kept, RegistryErrors, ToolContext};
use crate::response::ToolError;
use crate::runtime::companions;
use crate::tool::{FunctionTool, Tool, normalised};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;

/// An agent that these pieces make up, which are sorted by their names. `before`: what the agent had until now.
pub(super) fn assemble(
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
    pub(super) fn live(&self) -> Option<&Arc<super::live::Live>> {
        match &self.state {
            State::Live(live) => Some(live),
            State::Disabled | State::Failed(_) => None,
        }
    }
}

/// An internal error that the log tells of, where there is one.
pub(super) fn internal(kind: &AgentErrorKind) -> Option<&ToolError> {
    match kind {
        AgentErrorKind::Failed(error) if error.kind() == crate::ErrorKind::Internal => Some(error),
        _ => None,
    }
}

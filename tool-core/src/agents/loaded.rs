//! An agent's tools as they were made of its records at one moment.

use super::grant::Grant;
use super::live::Live;
use super::{AgentError, AgentErrorKind};
use crate::context::ToolContext;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The tools of an agent, as they were made of its records at one moment. It stays what it is when the records change.
pub struct LoadedAgent {
    pub(super) agent: Arc<str>,
    pub(super) version: u64,
    pub(super) tools: ToolContext,
    pub(super) failures: Vec<AgentError>,
    /// By the toolsets' names.
    pub(super) pieces: Vec<Piece>,
    /// When it was made, or the grants of copied tokens were looked at.
    pub(super) made: Instant,
    /// When what failed is tried again.
    pub(super) retry_at: Option<Instant>,
}

/// What became of one record.
#[derive(Clone)]
pub(super) struct Piece {
    /// The toolset's name.
    pub(super) tool: String,
    /// The record's version.
    pub(super) version: u64,
    pub(super) disabled_actions: BTreeSet<String>,
    pub(super) state: State,
}

#[derive(Clone)]
pub(super) enum State {
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
    pub(super) fn piece(&self, tool: &str) -> Option<&Piece> {
        let at = self.pieces.binary_search_by(|piece| piece.tool.as_str().cmp(tool)).ok()?;
        self.pieces.get(at)
    }

    /// Whether something has to be made anew although no record has changed.
    pub(super) fn is_due(&self, retry: Duration) -> bool {
        let now = Instant::now();
        self.retry_at.is_some_and(|at| at <= now) || self.pieces.iter().any(|piece| self.is_stale(piece, retry, now))
    }

    /// Whether what is in it can be used: no toolset has a copy of a token that has expired.
    pub(super) fn works(&self) -> bool {
        let mut copied = self.pieces.iter().filter_map(|piece| piece.live()?.copied.as_deref());
        !copied.any(has_expired)
    }

    /// Whether a toolset has a copy of a token that is no longer good, or was last refreshed in vain a while ago.
    pub(super) fn is_stale(&self, piece: &Piece, retry: Duration, now: Instant) -> bool {
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

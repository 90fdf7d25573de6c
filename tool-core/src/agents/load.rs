//! Loading an agent: what the store has of it becomes tools, as far as it has changed.

use super::assemble::{assemble, internal};
use super::cache::Slot;
use super::loaded::{LoadedAgent, Piece, State};
use super::open::open;
use super::{AgentError, AgentErrorKind, AgentRecords, AgentStoreError, AgentTools, Shared};
use crate::configure::TokenSource;
use crate::redact::Redaction;
use crate::response::ToolError;
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

/// How long the store may take.
const STORE: Duration = Duration::from_secs(5);

/// The agent as its records are now: what is there, where they have not changed.
pub(super) async fn load(shared: &Arc<Shared>, agent: &Arc<str>) -> Result<Arc<LoadedAgent>, AgentError> {
    let known = shared.slots.find(agent);
    let settings = &shared.settings;
    if let Some(loaded) = known.as_ref().and_then(|slot| slot.checked_within(settings.recheck_after))
        && !loaded.is_due(settings.retry_failed)
    {
        return Ok(loaded);
    }
    let begun = known.as_ref().map_or(0, |slot| slot.begun());
    let version = asked(agent, async { shared.store.version(agent).await }).await?;
    let up_to_date = |slot: &Slot| {
        let loaded = slot.loaded().filter(|loaded| loaded.version == version && !loaded.is_due(settings.retry_failed));
        loaded.inspect(|_| slot.checked())
    };
    if let Some(loaded) = known.as_deref().and_then(up_to_date) {
        return Ok(loaded);
    }
    if version == 0 && known.is_none() {
        // Nobody has to remember an agent that there is not.
        return Ok(Arc::new(assemble(shared, agent, 0, Vec::new(), None)));
    }
    let slot = known.unwrap_or_else(|| shared.slots.slot(agent));
    if let Some(loaded) = slot.loaded().filter(|loaded| loaded.version == version && loaded.works()) {
        // What works need not wait for what does not, which may take its time to fail again.
        slot.checked();
        if let Ok(turn) = Arc::clone(&slot.loading).try_lock_owned()
            && up_to_date(&slot).is_none()
        {
            drop(begin(shared, agent, &slot, turn, Retry::Failed));
        }
        return Ok(loaded);
    }
    let turn = Arc::clone(&slot.loading).lock_owned().await;
    if let Some(outcome) = slot.since(begun).or_else(|| up_to_date(&slot).map(Ok)) {
        return outcome;
    }
    begin(shared, agent, &slot, turn, Retry::Tokens).await.unwrap_or_else(|_| {
        let stopped = ToolError::internal("the tokio runtime stopped while it was loaded");
        Err(AgentError::new(agent, "", AgentErrorKind::Failed(stopped)))
    })
}

/// What a load tries again of what has not changed.
#[derive(Clone, Copy, PartialEq)]
enum Retry {
    /// Tokens that are no longer good.
    Tokens,
    /// What failed too, which may take long: nobody waits for it.
    Failed,
}

type Outcome = Result<Arc<LoadedAgent>, AgentError>;

/// Begins a load in a task of its own: whoever stops waiting leaves nothing half done.
fn begin(
    shared: &Arc<Shared>,
    agent: &Arc<str>,
    slot: &Arc<Slot>,
    turn: OwnedMutexGuard<()>,
    retry: Retry,
) -> JoinHandle<Outcome> {
    let (to_load, agent_id, slot) = (Arc::clone(shared), Arc::clone(agent), Arc::clone(slot));
    slot.begin();
    let loading = async move {
        let _turn = turn;
        let outcome = AssertUnwindSafe(anew(&to_load, &agent_id, &slot, retry)).catch_unwind().await;
        let broke = || AgentErrorKind::Failed(ToolError::internal("loading it panicked"));
        let outcome = outcome.unwrap_or_else(|_| Err(AgentError::new(&agent_id, "", broke())));
        slot.end(&outcome);
        outcome
    };
    shared.tasks.spawn(loading.in_current_span())
}

/// Asks the store, but not for long.
async fn asked<T>(agent: &str, operation: impl Future<Output = Result<T, AgentStoreError>>) -> Result<T, AgentError> {
    let down = |why: String| AgentStoreError::Down(why);
    let asked = timeout(STORE, AssertUnwindSafe(operation).catch_unwind()).await;
    let answer = match asked {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(down("it panicked".to_owned())),
        Err(_) => Err(down(format!("no answer within {STORE:?}"))),
    };
    answer.map_err(|error| AgentError::of_store(agent, "", error))
}

/// Makes the agent of its records as they are now.
async fn anew(shared: &Arc<Shared>, agent: &Arc<str>, slot: &Slot, retry: Retry) -> Outcome {
    let before = slot.loaded();
    let before = before.as_deref();
    // Before the records are read, so that the new tokens are among them.
    let outdated = outdated(shared, before).await;
    let AgentRecords { version, tools, unreadable } = asked(agent, async { shared.store.load(agent).await }).await?;
    let changed = before.is_none_or(|before| before.version != version);
    let due = before.and_then(|before| before.retry_at).filter(|at| *at <= Instant::now());
    let retry = changed || (retry == Retry::Failed && due.is_some());
    let had = before.into_iter().flat_map(|before| &before.pieces);
    let had = had.filter(|piece| !outdated.contains(&piece.tool.as_str()) && stays(piece, changed, retry));
    let had = had.map(|piece| (piece.tool.as_str(), piece)).collect::<HashMap<_, _>>();
    let pieces = tools.into_iter().map(|record| {
        let same = had.get(record.tool.as_str()).copied().filter(|piece| piece.version == record.version).cloned();
        async move {
            match same {
                Some(piece) => piece,
                None => piece(shared, agent, record).await,
            }
        }
    });
    let mut pieces = join_all(pieces).await;
    pieces.extend(unreadable.into_iter().map(|row| Piece {
        tool: row.tool,
        version: 0,
        disabled_actions: std::collections::BTreeSet::new(),
        state: State::Failed(AgentErrorKind::Unreadable(row.why)),
    }));
    pieces.sort_by(|a, b| a.tool.cmp(&b.tool));
    let mut loaded = assemble(shared, agent, version, pieces, before);
    if let (Some(due), false) = (due, retry) {
        loaded.retry_at = loaded.retry_at.and(Some(due));
    }
    tell(&loaded, before);
    Ok(Arc::new(loaded))
}

/// The toolsets that hold a copy of a token in whose place there is another now, or nothing good.
async fn outdated<'a>(shared: &Shared, before: Option<&'a LoadedAgent>) -> Vec<&'a str> {
    let Some(before) = before else { return Vec::new() };
    let (now, settings) = (Instant::now(), &shared.settings);
    let asked =
        before.pieces.iter().filter(|piece| before.is_stale(piece, settings.retry_failed, now)).map(async |piece| {
            let grant = piece.live().and_then(|live| live.copied.as_ref())?;
            let expires = grant.expires_at();
            let refreshed = timeout(settings.setup_within, grant.token()).await.is_ok_and(|token| token.is_ok());
            // What it has may be good a little longer where there is no new one yet.
            (!refreshed || grant.expires_at() != expires).then_some(piece.tool.as_str())
        });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Whether a piece may stay as it is where its record has not changed.
fn stays(piece: &Piece, changed: bool, retry: bool) -> bool {
    match &piece.state {
        State::Disabled => true,
        State::Failed(AgentErrorKind::Collision(_)) => !changed,
        State::Failed(_) => !retry,
        State::Live(live) => !retry || live.failures.is_empty(),
    }
}

async fn piece(shared: &Arc<Shared>, agent: &Arc<str>, record: AgentTools) -> Piece {
    let (tool, version, enabled) = (record.tool.clone(), record.version, record.enabled);
    let disabled_actions = record.disabled_actions.clone();
    let state = if enabled {
        match open(Arc::clone(shared), Arc::clone(agent), record).await {
            Ok(live) => State::Live(Arc::new(live)),
            Err(kind) => State::Failed(kind),
        }
    } else {
        State::Disabled
    };
    Piece { tool, version, disabled_actions, state }
}

/// Tells the log what does not work, once.
fn tell(loaded: &LoadedAgent, before: Option<&LoadedAgent>) {
    let known = |failure| before.is_some_and(|before| before.failures.contains(failure));
    for failure in loaded.failures.iter().filter(|failure| !known(failure)) {
        let (agent, toolset) = (failure.agent.escape_debug(), failure.tool.escape_debug());
        let why = internal(&failure.kind).map_or_else(|| failure.kind.to_string(), |error| error.message().to_owned());
        let error = Redaction::new().text(&why);
        tracing::warn!(%agent, %toolset, %error, "an agent's toolset does not work, and is left out");
    }
}

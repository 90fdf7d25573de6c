//! Loading an agent: what the store has of it becomes tools, as far as it has changed.

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::grant::Grant;
use crate::agents::loaded::{Instance, Live, LoadedAgent, Piece, State, assemble, internal};
use crate::agents::record::{AgentRecords, AgentTools};
use crate::agents::scrub::Scrub;
use crate::agents::store::AgentStoreError;
use crate::agents::{Shared, grant};
use crate::call::error::{ErrorKind, ToolError};
use crate::registry::ToolContext;
use crate::tool::auth::Auth;
use crate::tool::configure::access_token::TokenSource;
use crate::tool::configure::secret::SecretDocument;
use crate::tool::configure::{ConfigureError, Configured, ToolsetFactory};
use crate::tool::toolset::{Toolset, why_it_ended};
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use futures_util::future::join_all;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

/// How long the store may take.
const STORE: Duration = Duration::from_secs(5);

/// The agent as its records are now: what is there, where they have not changed.
pub(crate) async fn load(shared: &Arc<Shared>, agent: &Arc<str>) -> Result<Arc<LoadedAgent>, AgentError> {
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

// ---- From one record to a toolset that works, or why there is none.

/// Opens the secrets of a record, configures its toolset and sets it up. In a task of its own, where a panic ends, so
/// that what was opened comes to somebody who closes it, whoever waits.
pub(crate) async fn open(shared: Arc<Shared>, agent: Arc<str>, record: AgentTools) -> Result<Live, AgentErrorKind> {
    let tool = record.tool.as_str();
    let Some(factory) = shared.catalog.get(tool) else {
        return Err(AgentErrorKind::NotRegistered { nearest: shared.catalog.nearest(tool) });
    };
    let secrets = match &record.secrets {
        Some(sealed) => shared.keys.open(&agent, tool, sealed)?,
        None => SecretDocument::none(),
    };
    let grant = match &factory.metadata().auth {
        Auth::OAuth2(grant) => grant::source(&shared, &agent, tool, grant, &secrets),
        _ => None,
    };
    let scrub = Arc::new(Scrub { secrets, grant });
    let working = opened(Arc::clone(&shared), Arc::clone(factory), agent, record, Arc::clone(&scrub));
    tokio::spawn(working).await.unwrap_or_else(|panic| Err(scrub.failed(ToolError::internal(why_it_ended(panic)))))
}

async fn opened(
    shared: Arc<Shared>,
    factory: Arc<dyn ToolsetFactory>,
    agent: Arc<str>,
    record: AgentTools,
    scrub: Arc<Scrub>,
) -> Result<Live, AgentErrorKind> {
    let within = shared.settings.setup_within;
    let configured = configured(&*factory, &record, &scrub, within).await;
    let (toolset, copied) = configured.map_err(|error| scrub.told(error))?;
    let alone = ToolContext::builder().with(toolset).build();
    let alone = alone.map_err(|errors| scrub.failed(ToolError::permanent(errors.to_string())))?;
    let instance = |opened: ToolContext| Instance {
        agent,
        tool: record.tool.clone(),
        opened,
        scrub: Arc::clone(&scrub),
        within,
        runtime: Handle::current(),
        closing: shared.tasks.clone(),
    };
    let Ok((open, failures)) = timeout(within, alone.setup()).await else {
        // Nobody knows how far it came: it is closed as it is dropped.
        drop(instance(alone));
        return Err(scrub.failed(late("its setup", within)));
    };
    let mut failures = failures.into_iter().map(|failure| scrub.failed(failure.error));
    if open.toolsets().is_empty() {
        let unknown = || scrub.failed(ToolError::internal("it did not open"));
        return Err(failures.next().unwrap_or_else(unknown));
    }
    let failures = failures.collect();
    Ok(Live::new(Arc::new(instance(open)), &record.disabled_actions, failures, copied))
}

/// The toolset of these settings, and its grant where it copied the token.
async fn configured(
    factory: &dyn ToolsetFactory,
    record: &AgentTools,
    scrub: &Scrub,
    within: Duration,
) -> Result<(Arc<dyn Toolset>, Option<Arc<Grant>>), ConfigureError> {
    let configure = async |secrets: SecretDocument| -> Configured {
        let configuring = factory.configure(record.config.clone(), secrets);
        timeout(within, configuring).await.unwrap_or_else(|_| Err(ConfigureError::Failed(late("`configure`", within))))
    };
    let Scrub { secrets, grant } = scrub;
    let Some(grant) = grant else { return Ok((configure(secrets.clone()).await?, None)) };
    let with_grant = |secrets: SecretDocument| secrets.with_grant(Arc::clone(grant) as Arc<dyn TokenSource>);
    let mut configured = configure(with_grant(secrets.clone())).await;
    // Other settings would not fit with another token either.
    let judged = matches!(configured, Ok(_) | Err(ConfigureError::Failed(_)));
    if judged && !grant.taken() && grant.is_due() {
        // It has a copy of a token that is no longer good, or not for long; or was refused for it, where it tried it.
        let refreshed = timeout(within, grant.token()).await;
        refreshed.unwrap_or_else(|_| Err(late("the refresh of its token", within))).map_err(ConfigureError::Failed)?;
        configured = configure(with_grant(grant.document(secrets))).await;
    }
    let copied = (!grant.taken()).then(|| Arc::clone(grant));
    Ok((configured?, copied))
}

fn late(what: &str, within: Duration) -> ToolError {
    ToolError::new(ErrorKind::Timeout, format!("{what} took longer than {within:?}"), true)
}

// ---- What was loaded, for as long as there is room: an agent a slot.

/// The agents that were loaded and used last.
pub(crate) struct Slots(Cache<String, Arc<Slot>>);

/// What is known of one agent.
#[derive(Default)]
pub(crate) struct Slot {
    /// Held by the one who loads it.
    pub(crate) loading: Arc<tokio::sync::Mutex<()>>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    loaded: Option<Arc<LoadedAgent>>,
    /// When the store was last asked for the version.
    checked: Option<Instant>,
    /// Loads that have begun.
    begun: u64,
    /// Why the last one failed, where it did.
    failed: Option<AgentError>,
    /// Whether there was no more room for it, so that nothing may be put into it.
    gone: bool,
}

impl Slots {
    /// For so many agents.
    pub(crate) fn new(agents: u64) -> Self {
        let cache = Cache::builder()
            .max_capacity(agents)
            // Otherwise an agent that is asked for the first time may be thrown out at once, and is loaded at each call.
            .eviction_policy(EvictionPolicy::lru())
            // Now, and not when the cache gets round to dropping it: toolsets wait for it to be closed.
            .eviction_listener(|_, slot: Arc<Slot>, _| slot.let_go());
        Self(cache.build())
    }

    pub(crate) fn find(&self, agent: &str) -> Option<Arc<Slot>> {
        self.0.get(agent)
    }

    /// The slot of an agent, which is made where there is none.
    pub(crate) fn slot(&self, agent: &str) -> Arc<Slot> {
        let entry = self.0.entry_by_ref(agent).or_default();
        if entry.is_fresh() {
            // Otherwise those for whom there is no room stay until somebody comes by who has the time.
            self.0.run_pending_tasks();
        }
        entry.into_value()
    }

    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|(_, slot)| slot.let_go());
        self.0.invalidate_all();
        self.0.run_pending_tasks();
    }
}

impl Slot {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn loaded(&self) -> Option<Arc<LoadedAgent>> {
        self.held().loaded.clone()
    }

    /// What is there, if the store was asked no longer ago than this.
    pub(crate) fn checked_within(&self, time: Duration) -> Option<Arc<LoadedAgent>> {
        let held = self.held();
        let recent = held.checked.is_some_and(|at| at.elapsed() < time);
        held.loaded.clone().filter(|_| recent)
    }

    /// The store still has the version that is there.
    pub(crate) fn checked(&self) {
        self.held().checked = Some(Instant::now());
    }

    /// How many loads have begun: what a later one brings was asked for after this.
    pub(crate) fn begun(&self) -> u64 {
        self.held().begun
    }

    /// What a load brought that has begun since.
    pub(crate) fn since(&self, begun: u64) -> Option<Result<Arc<LoadedAgent>, AgentError>> {
        let held = self.held();
        if held.begun == begun {
            return None;
        }
        held.failed.clone().map(Err).or_else(|| held.loaded.clone().map(Ok))
    }

    /// A load begins.
    pub(crate) fn begin(&self) {
        self.held().begun += 1;
    }

    /// A load has ended.
    pub(crate) fn end(&self, outcome: &Result<Arc<LoadedAgent>, AgentError>) {
        let mut held = self.held();
        let before = match outcome {
            Ok(loaded) => {
                (held.failed, held.checked) = (None, Some(Instant::now()));
                if held.gone { None } else { held.loaded.replace(Arc::clone(loaded)) }
            }
            Err(error) => {
                held.failed = Some(error.clone());
                None
            }
        };
        // What goes with it is closed, and nobody should wait for that.
        drop(held);
        drop(before);
    }

    fn let_go(&self) {
        let mut held = self.held();
        held.gone = true;
        let before = held.loaded.take();
        drop(held);
        drop(before);
    }
}

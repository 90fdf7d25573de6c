//! Loading an agent: making tools from the records that have changed.

use crate::agents::builder::AgentsInner;
use crate::agents::cache::{CacheEntry, LoadOutcome};
use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::grant::Grant;
use crate::agents::keys::OpenedSecrets;
use crate::agents::loaded::{
    LoadedAgent, LoadedToolset, OpenedToolset, ReadyToolset, SecretScrubber, ToolsetState,
};
use crate::agents::record::{AgentRecords, AgentTools, UnreadableRow};
use crate::agents::store::{AgentStoreError, ask_store};
use crate::call::error::{ErrorKind, ToolError};
use crate::registry::ToolContext;
use crate::tool::toolset::{Toolset, join_error_message};
use crate::tool::{Auth, ConfigureError, Configured, SecretDocument, TokenSource, ToolsetFactory};
use crate::trace::redaction::Redaction;
use futures_util::FutureExt;
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

/// Loads the agent as its records are now. Uses what is loaded if they have not changed.
pub(crate) async fn load(agents: &Arc<AgentsInner>, agent: &Arc<str>) -> LoadOutcome {
    let retry_failed = agents.timing.retry_failed;
    let cached = agents.cache.get(agent);
    if let Some(loaded) = cached
        .as_ref()
        .and_then(|entry| entry.checked_within(agents.timing.recheck_after))
        && !loaded.is_due(retry_failed)
    {
        return Ok(loaded);
    }
    let loads = cached.as_ref().map_or(0, |entry| entry.loads());
    let rechecks = cached.as_ref().map_or(0, |entry| entry.rechecks());
    let version = ask_store(async { agents.store.version(agent).await })
        .await
        .map_err(AgentError::about(agent, ""))?;
    let up_to_date = |entry: &CacheEntry| {
        let loaded = entry
            .loaded()
            .filter(|loaded| loaded.version == version && !loaded.is_due(retry_failed));
        loaded.inspect(|_| entry.mark_checked(rechecks))
    };
    if let Some(loaded) = cached.as_deref().and_then(up_to_date) {
        return Ok(loaded);
    }
    if version == 0 && cached.is_none() {
        // Unknown agents take no place in the cache.
        return Ok(Arc::new(LoadedAgent::assemble(
            &agents.base,
            retry_failed,
            agent,
            0,
            Vec::new(),
            None,
        )));
    }
    let entry = cached.unwrap_or_else(|| agents.cache.get_or_insert(agent));
    if let Some(loaded) = entry
        .loaded()
        .filter(|loaded| loaded.version == version && loaded.is_usable())
    {
        // Failed toolsets are tried again in the background, because they may take long to fail
        // again.
        entry.mark_checked(rechecks);
        if let Ok(turn) = Arc::clone(&entry.loading).try_lock_owned()
            && up_to_date(&entry).is_none()
        {
            drop(spawn_load(agents, agent, &entry, turn, Retry::Failed));
        }
        return Ok(loaded);
    }
    let turn = Arc::clone(&entry.loading).lock_owned().await;
    if let Some(outcome) = entry
        .outcome_since(loads)
        .or_else(|| up_to_date(&entry).map(Ok))
    {
        return outcome;
    }
    spawn_load(agents, agent, &entry, turn, Retry::Tokens)
        .await
        .unwrap_or_else(|_| {
            Err(failure(
                agent,
                "the tokio runtime stopped while the agent was loaded",
            ))
        })
}

/// The unchanged toolsets that a load makes again.
#[derive(Clone, Copy, PartialEq)]
enum Retry {
    /// Those that hold a copy of an expired token.
    Tokens,
    /// Those that failed, too. This may take long, so no caller waits for it.
    Failed,
}

fn failure(agent: &str, text: &str) -> AgentError {
    AgentError::new(agent, "", AgentErrorKind::Failed(ToolError::internal(text)))
}

/// Loads in a separate task, so that a caller that goes away leaves no toolset half set up.
fn spawn_load(
    agents: &Arc<AgentsInner>,
    agent: &Arc<str>,
    entry: &Arc<CacheEntry>,
    turn: OwnedMutexGuard<()>,
    retry: Retry,
) -> JoinHandle<LoadOutcome> {
    let inner = Arc::clone(agents);
    let agent = Arc::clone(agent);
    let entry = Arc::clone(entry);
    entry.begin_load();
    let rechecks = entry.rechecks();
    let load = async move {
        let _turn = turn;
        let outcome = AssertUnwindSafe(reload(&inner, &agent, &entry, retry))
            .catch_unwind()
            .await;
        let outcome =
            outcome.unwrap_or_else(|_| Err(failure(&agent, "loading the agent panicked")));
        entry.end_load(&outcome, rechecks);
        outcome
    };
    agents.tasks.spawn(load.in_current_span())
}

/// Loads the agent from its records as they are now.
async fn reload(
    agents: &Arc<AgentsInner>,
    agent: &Arc<str>,
    entry: &CacheEntry,
    retry: Retry,
) -> LoadOutcome {
    let before = entry.loaded();
    let before = before.as_deref();
    // Before the records are read, so that they contain the new tokens.
    let outdated = refresh_copies(agents, before).await;
    let records = ask_store(async { agents.store.load(agent).await })
        .await
        .map_err(AgentError::about(agent, ""))?;
    let AgentRecords {
        version,
        tools: records,
        unreadable,
    } = records;
    let changed = before.is_none_or(|before| before.version != version);
    let due = before
        .and_then(|before| before.retry_at)
        .filter(|at| *at <= Instant::now());
    let retry = changed || (retry == Retry::Failed && due.is_some());
    let kept = before
        .into_iter()
        .flat_map(|before| &before.toolsets)
        .filter(|toolset| {
            !outdated.contains(&&*toolset.tool) && can_be_kept(&toolset.state, changed, retry)
        });
    let mut kept = kept
        .map(|toolset| (&*toolset.tool, toolset))
        .collect::<HashMap<_, _>>();
    let toolsets = records.into_iter().map(|record| {
        let same = kept
            .remove(&*record.tool)
            .filter(|toolset| toolset.version == record.version);
        async move {
            match same {
                Some(toolset) => toolset.clone(),
                None => load_toolset(agents, agent, record).await,
            }
        }
    });
    let toolsets = toolsets.collect::<Vec<_>>();
    let mut toolsets = join_all(toolsets).await;
    toolsets.extend(
        unreadable
            .into_iter()
            .map(|UnreadableRow { tool, reason }| {
                let state = ToolsetState::Failed(AgentStoreError::Unreadable(reason).into());
                LoadedToolset {
                    tool,
                    version: 0,
                    disabled_actions: BTreeSet::new(),
                    settings: [0; 32],
                    state,
                }
            }),
    );
    toolsets.sort_by(|a, b| a.tool.cmp(&b.tool));
    let mut loaded = LoadedAgent::assemble(
        &agents.base,
        agents.timing.retry_failed,
        agent,
        version,
        toolsets,
        before,
    );
    if let (Some(due), false) = (due, retry) {
        // The failed toolsets were not tried now, and still have to be.
        loaded.retry_at = loaded.retry_at.and(Some(due));
    }
    log_new_failures(&loaded, before);
    Ok(Arc::new(loaded))
}

/// Refreshes tokens of which toolsets hold copies. Returns the names of the toolsets whose copy is
/// outdated.
async fn refresh_copies<'a>(agents: &AgentsInner, before: Option<&'a LoadedAgent>) -> Vec<&'a str> {
    let Some(before) = before else {
        return Vec::new();
    };
    let refreshes = before
        .stale(agents.timing.retry_failed)
        .map(async |toolset| {
            let grant = toolset.ready()?.copied.as_ref()?;
            let expires_at = grant.expires_at();
            let refreshed = timeout(agents.timing.setup_within, grant.token())
                .await
                .is_ok_and(|token| token.is_ok());
            // The copy may be valid a little longer if there is no new token yet.
            (!refreshed || grant.expires_at() != expires_at).then_some(&*toolset.tool)
        });
    join_all(refreshes).await.into_iter().flatten().collect()
}

/// Returns true if a toolset whose record has not changed can be kept.
fn can_be_kept(state: &ToolsetState, changed: bool, retry: bool) -> bool {
    match state {
        ToolsetState::Disabled => true,
        ToolsetState::Failed(AgentErrorKind::Collision(_)) => !changed,
        ToolsetState::Failed(_) => !retry,
        ToolsetState::Ready(ready) => !retry || ready.failures.is_empty(),
    }
}

async fn load_toolset(
    agents: &Arc<AgentsInner>,
    agent: &Arc<str>,
    record: AgentTools,
) -> LoadedToolset {
    let tool = record.tool.clone();
    let version = record.version;
    let enabled = record.enabled;
    let disabled_actions = record.disabled_actions.clone();
    let settings = Sha256::digest(record.config.to_string()).into();
    let state = if enabled {
        match open(agents, agent, record).await {
            Ok(ready) => ToolsetState::Ready(Arc::new(ready)),
            Err(kind) => ToolsetState::Failed(kind),
        }
    } else {
        ToolsetState::Disabled
    };
    LoadedToolset {
        tool,
        version,
        disabled_actions,
        settings,
        state,
    }
}

fn log_new_failures(loaded: &LoadedAgent, before: Option<&LoadedAgent>) {
    let is_known = |failure| before.is_some_and(|before| before.failures.contains(failure));
    for AgentError { agent, tool, kind } in
        loaded.failures.iter().filter(|failure| !is_known(failure))
    {
        let text = match kind {
            // The error's own text hides internal errors.
            AgentErrorKind::Failed(error) if error.kind() == ErrorKind::Internal => {
                error.message().to_owned()
            }
            kind => kind.to_string(),
        };
        let error = Redaction::new().text(&text);
        let agent = agent.escape_debug();
        let toolset = tool.escape_debug();
        tracing::warn!(%agent, %toolset, %error, "failed to load a toolset of an agent; it is left out");
    }
}

/// Opens the secrets of a record, configures its toolset and sets it up. Works in a separate task,
/// which contains panics and closes the toolset if the caller goes away.
async fn open(
    agents: &Arc<AgentsInner>,
    agent: &Arc<str>,
    record: AgentTools,
) -> Result<ReadyToolset, AgentErrorKind> {
    let tool = record.tool.as_str();
    let factory = agents.catalog.require(tool)?;
    let bound = factory.metadata().bound_settings(&record.config);
    let secrets = match &record.secrets {
        Some(sealed) => agents.keys.open(agent, tool, &bound, sealed)?,
        None => SecretDocument::none(),
    };
    let opened = OpenedSecrets { secrets, bound };
    let grant = match &factory.metadata().auth {
        Auth::OAuth2(grant) => Grant::new(&agents.grants, agent, tool, grant, &opened),
        _ => None,
    };
    let scrubber = Arc::new(SecretScrubber {
        secrets: opened.secrets,
        grant,
    });
    let task = set_up(
        Arc::clone(agents),
        Arc::clone(factory),
        Arc::clone(agent),
        record,
        Arc::clone(&scrubber),
    );
    let outcome = tokio::spawn(task).await;
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(AgentErrorKind::Failed(ToolError::internal(
            join_error_message(panic),
        )))
    });
    outcome.map_err(|kind| scrubber.scrub_kind(kind))
}

async fn set_up(
    agents: Arc<AgentsInner>,
    factory: Arc<dyn ToolsetFactory>,
    agent: Arc<str>,
    record: AgentTools,
    scrubber: Arc<SecretScrubber>,
) -> Result<ReadyToolset, AgentErrorKind> {
    let setup_within = agents.timing.setup_within;
    let (toolset, copied) = configure(&*factory, &record, &scrubber, setup_within).await?;
    let tools = ToolContext::builder().with(toolset).build();
    let tools =
        tools.map_err(|errors| AgentErrorKind::Failed(ToolError::permanent(errors.to_string())))?;
    let opened = |tools| OpenedToolset {
        agent,
        tool: record.tool.clone(),
        tools,
        scrubber: Arc::clone(&scrubber),
        close_timeout: setup_within,
        runtime: Handle::current(),
        tasks: agents.tasks.clone(),
    };
    let Ok((ready, failures)) = timeout(setup_within, tools.setup()).await else {
        // Dropping it closes what was set up.
        drop(opened(tools));
        return Err(AgentErrorKind::Failed(late("its setup", setup_within)));
    };
    let mut failures = failures
        .into_iter()
        .map(|failure| scrubber.scrub_kind(AgentErrorKind::Failed(failure.error)));
    let Some(toolset) = ready.toolsets().first().cloned() else {
        let unknown = || AgentErrorKind::Failed(ToolError::internal("the toolset was not set up"));
        return Err(failures.next().unwrap_or_else(unknown));
    };
    let failures = failures.collect();
    Ok(ReadyToolset::new(
        &*toolset,
        opened(ready),
        &record.disabled_actions,
        failures,
        copied,
    ))
}

/// Configures the toolset of a record. Returns the grant too if the toolset holds a copy of its
/// token.
async fn configure(
    factory: &dyn ToolsetFactory,
    record: &AgentTools,
    scrubber: &SecretScrubber,
    within: Duration,
) -> Result<(Arc<dyn Toolset>, Option<Arc<Grant>>), ConfigureError> {
    let configure = async |secrets: SecretDocument| -> Configured {
        let configuring = factory.configure(record.config.clone(), secrets);
        timeout(within, configuring)
            .await
            .unwrap_or_else(|_| Err(ConfigureError::Failed(late("`configure`", within))))
    };
    let SecretScrubber { secrets, grant } = scrubber;
    let Some(grant) = grant else {
        return Ok((configure(secrets.clone()).await?, None));
    };
    let with_grant =
        |secrets: SecretDocument| secrets.with_grant(Arc::clone(grant) as Arc<dyn TokenSource>);
    let mut configured = configure(with_grant(secrets.clone())).await;
    // Invalid settings stay invalid with another token.
    let may_improve = matches!(configured, Ok(_) | Err(ConfigureError::Failed(_)));
    if may_improve && !grant.is_followed() && grant.is_due() {
        // The toolset holds a copy of a token that has expired or expires soon, or failed because
        // the token has expired.
        let refreshed = timeout(within, grant.token()).await;
        refreshed
            .unwrap_or_else(|_| Err(late("the refresh of its token", within)))
            .map_err(ConfigureError::Failed)?;
        configured = configure(with_grant(grant.put_into(secrets))).await;
    }
    let copied = (!grant.is_followed()).then(|| Arc::clone(grant));
    Ok((configured?, copied))
}

fn late(work: &str, within: Duration) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!("{work} took longer than {within:?}"),
        true,
    )
}

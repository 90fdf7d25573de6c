//! Opening a toolset: from a record to a toolset that is configured and set up.

use crate::agents::builder::AgentsInner;
use crate::agents::error::AgentErrorKind;
use crate::agents::grant::Grant;
use crate::agents::grant_record::GrantRecord;
use crate::agents::opened::{OpenedToolset, ReadyToolset, SecretScrubber};
use crate::agents::record::AgentTools;
use crate::agents::refresh::RefreshableGrant;
use crate::call::error::{ErrorKind, ToolError};
use crate::registry::ToolContext;
use crate::tool::auth::{Auth, OAuth2};
use crate::tool::configure::secret::TokenSource;
use crate::tool::configure::secret_document::SecretDocument;
use crate::tool::configure::{ConfigureError, Configured, ToolsetFactory};
use crate::tool::toolset::{Toolset, join_error_message};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Opens the secrets of a record, configures its toolset and sets it up. Works in a separate task, which contains panics
/// and closes the toolset if the caller goes away.
pub(crate) async fn open(
    agents: &Arc<AgentsInner>,
    agent: &Arc<str>,
    record: AgentTools,
) -> Result<ReadyToolset, AgentErrorKind> {
    let tool = record.tool.as_str();
    let Some(factory) = agents.catalog.get(tool) else {
        return Err(AgentErrorKind::NotRegistered { nearest: agents.catalog.nearest(tool) });
    };
    let secrets = match &record.secrets {
        Some(sealed) => agents.keys.open(agent, tool, sealed)?,
        None => SecretDocument::none(),
    };
    let grant = match &factory.metadata().auth {
        Auth::OAuth2(grant) => grant_of(agents, agent, tool, grant, &secrets),
        _ => None,
    };
    let scrubber = Arc::new(SecretScrubber { secrets, grant });
    let task = set_up(Arc::clone(agents), Arc::clone(factory), Arc::clone(agent), record, Arc::clone(&scrubber));
    let outcome = tokio::spawn(task).await;
    let outcome =
        outcome.unwrap_or_else(|panic| Err(AgentErrorKind::Failed(ToolError::internal(join_error_message(panic)))));
    outcome.map_err(|kind| scrubber.scrub_kind(kind))
}

/// Returns the grant whose tokens are among these secrets of a record, or `None` if there are none.
pub(crate) fn grant_of(
    agents: &AgentsInner,
    agent: &str,
    tool: &str,
    grant: &OAuth2,
    secrets: &SecretDocument,
) -> Option<Arc<Grant>> {
    let record = GrantRecord {
        shared: Arc::clone(&agents.grants),
        agent: agent.to_owned(),
        tool: tool.to_owned(),
        provider: grant.provider.clone(),
    };
    let refreshes = Arc::clone(&agents.refreshes);
    Grant::new(RefreshableGrant { record: Arc::new(record), grant: grant.clone(), refreshes }, secrets)
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
    let tools = tools.map_err(|errors| AgentErrorKind::Failed(ToolError::permanent(errors.to_string())))?;
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
    let mut failures = failures.into_iter().map(|failure| scrubber.scrub_kind(AgentErrorKind::Failed(failure.error)));
    if ready.toolsets().is_empty() {
        let unknown = || AgentErrorKind::Failed(ToolError::internal("the toolset was not set up"));
        return Err(failures.next().unwrap_or_else(unknown));
    }
    let failures = failures.collect();
    Ok(ReadyToolset::new(opened(ready), &record.disabled_actions, failures, copied))
}

/// Configures the toolset of a record. Returns the grant too if the toolset holds a copy of its token.
async fn configure(
    factory: &dyn ToolsetFactory,
    record: &AgentTools,
    scrubber: &SecretScrubber,
    within: Duration,
) -> Result<(Arc<dyn Toolset>, Option<Arc<Grant>>), ConfigureError> {
    let configure = async |secrets: SecretDocument| -> Configured {
        let configuring = factory.configure(record.config.clone(), secrets);
        timeout(within, configuring).await.unwrap_or_else(|_| Err(ConfigureError::Failed(late("`configure`", within))))
    };
    let SecretScrubber { secrets, grant } = scrubber;
    let Some(grant) = grant else { return Ok((configure(secrets.clone()).await?, None)) };
    let with_grant = |secrets: SecretDocument| secrets.with_grant(Arc::clone(grant) as Arc<dyn TokenSource>);
    let mut configured = configure(with_grant(secrets.clone())).await;
    // Invalid settings stay invalid with another token.
    let may_improve = matches!(configured, Ok(_) | Err(ConfigureError::Failed(_)));
    if may_improve && !grant.is_followed() && grant.is_due() {
        // The toolset holds a copy of a token that has expired or expires soon, or failed because the token has expired.
        let refreshed = timeout(within, grant.token()).await;
        refreshed.unwrap_or_else(|_| Err(late("the refresh of its token", within))).map_err(ConfigureError::Failed)?;
        configured = configure(with_grant(grant.put_into(secrets))).await;
    }
    let copied = (!grant.is_followed()).then(|| Arc::clone(grant));
    Ok((configured?, copied))
}

fn late(work: &str, within: Duration) -> ToolError {
    ToolError::new(ErrorKind::Timeout, format!("{work} took longer than {within:?}"), true)
}

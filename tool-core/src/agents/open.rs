//! From one record to a toolset that works, or why there is none.

use super::grant::{self, Grant};
use super::live::{Instance, Live};
use super::scrub::Scrub;
use super::{AgentErrorKind, AgentTools, Shared};
use crate::configure::{Auth, ConfigureError, Configured, SecretDocument, TokenSource, ToolsetFactory};
use crate::context::ToolContext;
use crate::response::{ErrorKind, ToolError};
use crate::tool::{Toolset, why_it_ended};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Opens the secrets of a record, configures its toolset and sets it up. In a task of its own, where a panic ends, so
/// that what was opened comes to somebody who closes it, whoever waits.
pub(super) async fn open(shared: Arc<Shared>, agent: Arc<str>, record: AgentTools) -> Result<Live, AgentErrorKind> {
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

//! A toolset that was opened for an agent. It is closed when nothing uses it any more.

use crate::agents::error::AgentErrorKind;
use crate::agents::grant::Grant;
use crate::agents::tokens::Tokens;
use crate::arguments::problem::Problem;
use crate::call::error::{ErrorList, ToolError};
use crate::registry::ToolContext;
use crate::tool::{MappedToolset, SecretDocument, Tool, Toolset};
use crate::trace::redaction::Redaction;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Removes the secrets of a record from the errors of its toolset.
pub(crate) struct SecretScrubber {
    pub(crate) secrets: SecretDocument,
    /// The grant whose tokens replace some of the secrets.
    pub(crate) grant: Option<Arc<Grant>>,
}

impl SecretScrubber {
    /// Returns an error of the toolset without the secrets.
    pub(crate) fn scrub(&self, error: ToolError) -> ToolError {
        let Some(grant) = &self.grant else { return self.secrets.scrub(error) };
        let error = Tokens::without_plain(&self.secrets).scrub(error);
        Tokens::without_plain(&grant.put_into(&self.secrets)).scrub(error)
    }

    /// Returns the reason why the toolset does not work, without the secrets.
    pub(crate) fn scrub_kind(&self, kind: AgentErrorKind) -> AgentErrorKind {
        // A factory that is written by hand may quote a secret in any text.
        let scrub = |text: String| self.scrub(ToolError::permanent(text)).message().to_owned();
        let scrub_problem = |Problem { pointer, expected, got, hint }| Problem {
            pointer: scrub(pointer),
            expected: scrub(expected),
            got: scrub(got),
            hint: hint.map(scrub),
        };
        let scrub_all = |problems: ErrorList<Problem>| problems.map(scrub_problem);
        match kind {
            AgentErrorKind::InvalidConfig(problems) => AgentErrorKind::InvalidConfig(scrub_all(problems)),
            AgentErrorKind::InvalidSecrets(problems) => AgentErrorKind::InvalidSecrets(scrub_all(problems)),
            AgentErrorKind::Several(kinds) => {
                AgentErrorKind::Several(kinds.into_iter().map(|kind| self.scrub_kind(kind)).collect())
            }
            AgentErrorKind::Failed(error) => AgentErrorKind::Failed(self.scrub(error)),
            other => other,
        }
    }
}

/// A toolset that was opened. The cache, every context with its tools and every open session share it. Dropping the last
/// reference closes it, on the tokio runtime that opened it.
pub(crate) struct OpenedToolset {
    pub(crate) agent: Arc<str>,
    pub(crate) tool: String,
    /// The toolset by itself, with those of its nested toolsets that opened.
    pub(crate) tools: ToolContext,
    pub(crate) scrubber: Arc<SecretScrubber>,
    /// Longest time that closing may take.
    pub(crate) close_timeout: Duration,
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
}

impl Drop for OpenedToolset {
    fn drop(&mut self) {
        let (tools, scrubber, close_timeout) = (self.tools.clone(), Arc::clone(&self.scrubber), self.close_timeout);
        let (agent, tool) = (Arc::clone(&self.agent), std::mem::take(&mut self.tool));
        let close = async move {
            let (agent, toolset) = (agent.escape_debug(), tool.escape_debug());
            let Ok(failures) = timeout(close_timeout, tools.close()).await else {
                tracing::error!(%agent, %toolset, timeout = ?close_timeout, "failed to close a toolset in time");
                return;
            };
            for failure in failures {
                let error = Redaction::new().text(scrubber.scrub(failure.error).message());
                tracing::error!(%agent, %toolset, %error, "failed to close a toolset");
            }
        };
        self.tasks.spawn_on(close, &self.runtime);
    }
}

/// A toolset that works, as the record offers it to the agent.
pub(crate) struct ReadyToolset {
    pub(crate) opened: Arc<OpenedToolset>,
    /// The tools that the record does not disable.
    pub(crate) offered: Arc<MappedToolset>,
    /// The names of all function tools, disabled ones too.
    pub(crate) actions: Vec<String>,
    /// The reasons why some nested toolsets did not open.
    pub(crate) failures: Vec<AgentErrorKind>,
    /// The grant, if the toolset holds a copy of its token.
    pub(crate) copied: Option<Arc<Grant>>,
}

impl ReadyToolset {
    pub(crate) fn new(
        toolset: &dyn Toolset,
        opened: OpenedToolset,
        disabled: &BTreeSet<String>,
        failures: Vec<AgentErrorKind>,
        copied: Option<Arc<Grant>>,
    ) -> Self {
        let actions = opened.tools.function_tools().iter().map(|tool| tool.name().to_owned()).collect();
        let tools = opened.tools.flatten().filter(|tool| !(tool.is_function_tool() && disabled.contains(tool.id())));
        let tools = tools.map(|tool| match tool {
            Tool::Function(tool) => {
                let scrubber = Arc::clone(&opened.scrubber);
                Tool::Function(tool.scrubbed_by(Arc::new(move |error| scrubber.scrub(error))))
            }
            other => other,
        });
        // Nothing inside it is opened or closed, as `opened` does that.
        let mut offered = MappedToolset::like(toolset, tools.collect(), Vec::new());
        offered.id.clone_from(&opened.tool);
        Self { opened: Arc::new(opened), offered: Arc::new(offered), actions, failures, copied }
    }
}

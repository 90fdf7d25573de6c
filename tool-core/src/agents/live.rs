//! A toolset that was opened for an agent: its tools, and its end when nobody holds it any more.

use super::AgentErrorKind;
use super::grant::Grant;
use super::scrub::Scrub;
use crate::context::ToolContext;
use crate::redact::Redaction;
use crate::tool::{Tool, Toolset};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// A toolset that was opened. The cache holds it, every context that has its tools, and every session until it ends;
/// when the last of them lets go it is closed, on the tokio runtime that opened it.
pub(super) struct Instance {
    pub(super) agent: Arc<str>,
    pub(super) tool: String,
    /// The toolset alone, with the nested ones that did open.
    pub(super) opened: ToolContext,
    pub(super) scrub: Arc<Scrub>,
    /// How long closing may take.
    pub(super) within: Duration,
    pub(super) runtime: Handle,
    /// Those that are being closed.
    pub(super) closing: TaskTracker,
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
pub(super) struct Live {
    pub(super) instance: Arc<Instance>,
    /// Its tools, without those that the record disables. The same in every context that is made of it.
    pub(super) toolset: Arc<dyn Toolset>,
    /// The names of its function tools, of the disabled ones too.
    pub(super) actions: Vec<String>,
    /// Why some of the toolsets in it did not open.
    pub(super) failures: Vec<AgentErrorKind>,
    /// The grant, where the toolset has but a copy of its token.
    pub(super) copied: Option<Arc<Grant>>,
}

impl Live {
    pub(super) fn new(
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

//! The tools of one reply, as the model sees them.

use crate::session::answer_form::AnswerForm;
use crate::session::handoffs::Handoffs;
use crate::session::inner::SessionInner;
use crate::tool::{ProviderTool, ToolDefinition};
use std::sync::Arc;

/// The tools of a session as the model sees them.
pub(crate) struct DeclaredTools {
    pub(crate) instructions: String,
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) searchable: Vec<ToolDefinition>,
    /// The provider tools of the agent that speaks. `None` for all of the session.
    provider_tools: Option<Vec<Arc<dyn ProviderTool>>>,
}

impl DeclaredTools {
    pub(crate) fn new(
        session: &SessionInner,
        entering: bool,
        form: Option<&AnswerForm>,
        handoffs: Option<&Handoffs>,
    ) -> Self {
        let agent = handoffs.map(Handoffs::active_agent);
        let is_shown = |tool: &ToolDefinition| {
            let is_hidden = entering && tool.flags().ignore_on_enter;
            !is_hidden && agent.is_none_or(|agent| agent.sees(session, tool.name()))
        };
        let mut tools = session.definitions();
        let mut searchable = session.searchable_definitions();
        tools.retain(is_shown);
        searchable.retain(is_shown);
        let instructions = match agent {
            None => session.instructions(),
            Some(agent) => agent.instructions_with(session.instructions_about(&tools)),
        };
        let provider_tools = agent.and_then(|agent| agent.provider_tools(session));
        match form {
            None => Self {
                instructions,
                tools,
                searchable,
                provider_tools,
            },
            Some(form) => Self {
                instructions: form.instructions(&instructions),
                tools: form.with_tools(&tools),
                searchable,
                provider_tools,
            },
        }
    }

    pub(crate) fn provider_tools<'a>(
        &'a self,
        session: &'a SessionInner,
    ) -> &'a [Arc<dyn ProviderTool>] {
        match &self.provider_tools {
            Some(tools) => tools,
            None => session.tools.context.provider_tools(),
        }
    }
}

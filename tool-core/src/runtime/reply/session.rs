//! The loop, over a session.

use super::{Caller, History, Model, Reply, Sink, Start, ToolChoice, Usage};
use crate::call::ToolCall;
use crate::runtime::pipeline::canonical_of_sent;
use crate::runtime::session::Session;
use crate::tool::{ProviderTool, ToolDefinition};
use futures_util::future::join_all;
use std::sync::{Arc, Mutex, PoisonError};

impl Session {
    /// Lets `model` reply to `text`: it is asked, what it calls is run, and it is asked again, for at most
    /// [`max_tool_steps`](crate::Policy::max_tool_steps) steps of calls; then it has to say something without. L21
    ///
    /// The reply is part of the current turn: [`next_turn`](Self::next_turn) begins another. An empty `text` adds no
    /// message. A tool that wants no reply ends it after its step, [`interrupt`](Self::interrupt) too; and whoever has
    /// heard enough drops the future. Whatever happens, the history has exactly one result for each call: those that
    /// ended, and CANCELLED for the rest. L22
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::runtime::History;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolContext::builder().with(add).build()?;
    /// let runtime = Runtime::builder(tools).policy(Policy::text()).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    ///
    /// let mut model = ScriptedModel::new().calls([ToolCall::new("call_1", "add", json!({"a": 1, "b": 2}))]).says("3");
    /// let mut history = History::new();
    /// let reply = session.reply(&mut model, &mut history, "What is 1 + 2?").await;
    ///
    /// assert_eq!(reply.text.as_deref(), Some("3"));
    /// assert_eq!(reply.responses[0].data_json(), Some("3"));
    /// assert_eq!(history.messages().len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reply<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        text: impl Into<String>,
    ) -> impl Future<Output = Reply> + Send {
        self.reply_with(model, history, text, ToolChoice::Auto)
    }

    /// Like [`reply`](Self::reply), but says whether the first step may or has to call tools. Those after it may.
    pub fn reply_with<M: Model>(
        &self,
        model: &mut M,
        history: &mut History,
        text: impl Into<String>,
        first: ToolChoice,
    ) -> impl Future<Output = Reply> + Send {
        super::reply(self, model, history, text.into(), Start::Asked(first))
    }

    /// Lets `model` speak first, as the agent enters the conversation: tools that are `ignore_on_enter` are not shown
    /// to it. L15
    pub fn reply_on_enter<M: Model>(&self, model: &mut M, history: &mut History) -> impl Future<Output = Reply> + Send {
        super::reply(self, model, history, String::new(), Start::Entering)
    }
}

impl Caller for Session {
    fn instructions(&self) -> String {
        self.instructions()
    }

    fn tools(&self, start: Start) -> Vec<ToolDefinition> {
        let mut shown = self.definitions();
        if matches!(start, Start::Entering) {
            shown.retain(|tool| !tool.flags().ignore_on_enter);
        }
        shown
    }

    fn provider_tools(&self) -> &[Arc<dyn ProviderTool>] {
        Self::tools(self).provider_tools()
    }

    fn max_tool_steps(&self) -> u32 {
        self.policy().max_tool_steps
    }

    fn interruptions(&self) -> u64 {
        self.0.running.epoch()
    }

    fn used(&self, usage: Usage) {
        // Where a provider does not tell, nothing is known.
        if usage.input > 0 {
            self.observe_context(usage.input);
        }
    }

    fn canonical(&self, call: &ToolCall) -> String {
        match Self::tools(self).function_tool(call.name()) {
            Some(tool) => canonical_of_sent(&self.0, tool, call.arguments()),
            None => call.arguments().to_owned(),
        }
    }

    async fn run(&self, calls: Vec<ToolCall>, sink: Sink<'_>) {
        let sink = Mutex::new(sink);
        let answered = by_id(calls).into_iter().map(async |calls| {
            for response in self.call_all(calls).await {
                sink.lock().unwrap_or_else(PoisonError::into_inner)(response);
            }
        });
        join_all(answered).await;
    }
}

/// The calls of each id by themselves, so that each is known when it has ended.
fn by_id(calls: Vec<ToolCall>) -> Vec<Vec<ToolCall>> {
    let mut groups = Vec::<Vec<ToolCall>>::new();
    for call in calls {
        match groups.iter_mut().find(|group| group.iter().any(|other| other.id() == call.id())) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
    }
    groups
}

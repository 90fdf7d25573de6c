//! The replies of an agent as streams of events.

use crate::agent::AgentLoop;
use crate::agent_input::AgentInput;
use std::ops::DerefMut;
use tool_core::session::{AgentStream, Model};

/// # Streams
impl<M: Model> AgentLoop<M> {
    /// Replies to a message, or to another [input](AgentInput), as a stream of [events](tool_core::session::AgentEvent): text,
    /// reasoning, calls with their updates and results, approvals, usage, and at the end the reply. Each event has a JSON form for
    /// a front end.
    ///
    /// Nothing happens until you read the stream. Dropping it cancels the reply, as dropping the future of
    /// [`prompt`](Self::prompt) does. See [`AgentStream`] for what a slow reader means, and
    /// [`AgentEvent`](tool_core::session::AgentEvent) for the order of events.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::AgentEvent;
    /// use tool_core::testing::ScriptedModel;
    /// use tool_core::{Mode, Runtime, ToolCall, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::builder(ToolContext::builder().with(add).build()?).build()?;
    /// let session = runtime.session("s-1", Mode::Text).await?;
    /// let call = ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#);
    /// let mut agent = AgentLoop::new(session, ScriptedModel::new().calls([call]).says("It is 3."));
    ///
    /// let mut events = agent.stream("What is 1 + 2?");
    /// let mut shown = String::new();
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         AgentEvent::Text { delta } => shown.push_str(&delta),
    ///         AgentEvent::CallBegun { tool, .. } => shown.push_str(&format!("({tool}) ")),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(shown, "(add) It is 3.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&mut self, input: impl Into<AgentInput>) -> AgentStream<'_> {
        Self::stream_of(self, input)
    }

    /// Replies as [`stream`](Self::stream) does, and holds the agent in the stream, for example as the body of an answer over
    /// HTTP: a `Box` of an agent that this request has opened, or the guard of a lock from which the next request takes it.
    ///
    /// ```
    /// use futures_core::Stream;
    /// use std::sync::Arc;
    /// use tokio::sync::Mutex;
    /// use tool_adapters::agent::AgentLoop;
    /// use tool_core::session::{AgentEvent, Model};
    ///
    /// type SharedAgent<M> = Arc<Mutex<AgentLoop<M>>>;
    ///
    /// async fn answer<M: Model + 'static>(
    ///     agent: SharedAgent<M>,
    ///     message: String,
    /// ) -> impl Stream<Item = AgentEvent> + 'static {
    ///     // A second request of the user waits here until the first has been answered.
    ///     AgentLoop::stream_of(agent.lock_owned().await, message)
    /// }
    /// ```
    pub fn stream_of<'a>(
        agent: impl DerefMut<Target = Self> + Send + 'a,
        input: impl Into<AgentInput>,
    ) -> AgentStream<'a>
    where
        M: 'a,
    {
        let input = input.into();
        AgentStream::new(|events| async move {
            let mut agent = agent;
            agent.run(input, Some(events)).await
        })
    }
}

//! A reply as a stream of its events.

use crate::session::agent_event::AgentEvent;
use crate::session::event_queue::EventSender;
use crate::session::reply::Reply;
use futures_core::Stream;
use futures_util::future::BoxFuture;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reply as a stream of [events](AgentEvent). You get one from [`Session::reply_stream`](super::Session::reply_stream), and
/// from the agent loop.
///
/// The reply goes on while you read: a reader that waits stops the model and the tools that wait
/// for something, so a slow front end fills no memory. Dropping the stream cancels the reply, as
/// dropping the future of a reply does: the connection to the provider is closed, running calls are
/// cancelled, and the history has one result for each call.
///
/// ```
/// use futures_util::StreamExt;
/// use tool_core::session::{AgentEvent, History};
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
/// let mut model = ScriptedModel::new().calls([call]).says("It is 3.");
/// let mut history = History::new();
///
/// let mut events = session.reply_stream(&mut model, &mut history, "What is 1 + 2?");
/// while let Some(event) = events.next().await {
///     match event {
///         AgentEvent::Text { delta } => print!("{delta}"),
///         AgentEvent::CallBegun { tool, .. } => println!("{tool} is running"),
///         AgentEvent::Finished { reply } => println!("\n{} tokens", reply.usage.total()),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing unless it is read"]
pub struct AgentStream<'a> {
    sender: EventSender,
    /// The reply. `None` once it has ended.
    reply: Option<BoxFuture<'a, Reply>>,
}

impl<'a> AgentStream<'a> {
    /// Creates a stream of the events that a future sends. The reply that it returns is in the last event. Use it for a loop of
    /// your own around [`Session::reply_with_options`](super::Session::reply_with_options).
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tool_core::session::{AgentEvent, AgentStream, Reply};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut stream = AgentStream::new(|events| async move {
    ///     events.text("Good morning");
    ///     Reply::default()
    /// });
    /// assert_eq!(stream.next().await, Some(AgentEvent::Text { delta: "Good morning".into() }));
    /// assert!(matches!(stream.next().await, Some(AgentEvent::Finished { .. })));
    /// assert_eq!(stream.next().await, None);
    /// # }
    /// ```
    pub fn new<F>(reply: impl FnOnce(EventSender) -> F) -> Self
    where
        F: Future<Output = Reply> + Send + 'a,
    {
        let sender = EventSender::new();
        let reply = reply(sender.clone());
        Self {
            sender,
            reply: Some(Box::pin(reply)),
        }
    }
}

impl Stream for AgentStream<'_> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        loop {
            if let Some(event) = self.sender.take(context) {
                return Poll::Ready(Some(event));
            }
            let Some(reply) = &mut self.reply else {
                return Poll::Ready(None);
            };
            match reply.as_mut().poll(context) {
                Poll::Ready(reply) => {
                    self.reply = None;
                    self.sender.finish(reply);
                }
                Poll::Pending => {
                    return match self.sender.take(context) {
                        Some(event) => Poll::Ready(Some(event)),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl Drop for AgentStream<'_> {
    fn drop(&mut self) {
        self.sender.close();
    }
}

impl fmt::Debug for AgentStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentStream")
            .field("has_ended", &self.reply.is_none())
            .finish_non_exhaustive()
    }
}

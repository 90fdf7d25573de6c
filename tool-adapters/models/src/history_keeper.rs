//! Keeping the history of an agent within a limit.

use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use tool_core::session::{FailedSummary, History, Keep, Message, Model, Shortened};
use tool_core::trace::TokenUsage;

/// The share of the context at which a conversation is summed up, if no limit is set.
const DEFAULT_SHARE: f64 = 0.8;

/// Shortens a history before each step of the model, if it is too long.
#[derive(Default)]
pub(crate) struct HistoryKeeper {
    keep: Option<Keep>,
    summaries: Summaries,
    listener: Option<Unshared<Listener>>,
    measured: Option<MeasuredRequest>,
    /// The tokens of summaries that are not reported yet.
    usage: TokenUsage,
}

type Listener = dyn FnMut(&Shortened) + Send;

/// The model that sums up what is removed.
#[derive(Default)]
enum Summaries {
    #[default]
    None,
    /// The model of the conversation.
    Own,
    Other(Unshared<dyn SummaryModel>),
}

/// A request whose tokens the provider has counted.
#[derive(Clone, Copy)]
struct MeasuredRequest {
    messages: usize,
    tokens: u64,
}

/// A value that one owner uses at a time, so that an agent can be shared between threads where its
/// model can.
struct Unshared<T: ?Sized>(Mutex<Box<T>>);

impl<T: ?Sized> Unshared<T> {
    fn new(value: Box<T>) -> Self {
        Self(Mutex::new(value))
    }

    fn get(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

type Compacting<'a> = Pin<Box<dyn Future<Output = Result<Shortened, FailedSummary>> + Send + 'a>>;

/// A model of any type that sums up.
trait SummaryModel: Send {
    fn compact<'a>(&'a mut self, history: &'a mut History, keep: &'a Keep) -> Compacting<'a>;
}

impl<M: Model> SummaryModel for M {
    fn compact<'a>(&'a mut self, history: &'a mut History, keep: &'a Keep) -> Compacting<'a> {
        Box::pin(history.compact_counted(self, keep))
    }
}

/// # Settings
impl HistoryKeeper {
    pub(crate) fn set_keep(&mut self, keep: Keep) {
        self.keep = Some(keep);
    }

    pub(crate) fn sum_up(&mut self) {
        self.summaries = Summaries::Own;
        self.keep.get_or_insert_with(|| Keep::share(DEFAULT_SHARE));
    }

    pub(crate) fn sum_up_with(&mut self, model: impl Model + 'static) {
        self.sum_up();
        self.summaries = Summaries::Other(Unshared::new(Box::new(model)));
    }

    pub(crate) fn set_listener(&mut self, listener: impl FnMut(&Shortened) + Send + 'static) {
        self.listener = Some(Unshared::new(Box::new(listener)));
    }

    /// Forgets what was measured, because another model counts otherwise.
    pub(crate) fn forget_measured(&mut self) {
        self.measured = None;
    }
}

/// # Steps
impl HistoryKeeper {
    /// Shortens the history if it is too long. `besides` are the tokens of a request that are not
    /// of the history.
    pub(crate) async fn prepare<M: Model>(
        &mut self,
        model: &mut M,
        history: &mut History,
        besides: impl FnOnce() -> u64,
    ) {
        let Some(keep) = &self.keep else {
            return;
        };
        let about = model.about();
        let mut keep = keep
            .clone()
            .window_of(about.provider.as_deref(), &about.model);
        if let Some(tokens) = self.tokens_now(history) {
            keep = keep.measured(tokens, besides());
        }

        let summed_up = match &mut self.summaries {
            Summaries::None => Ok(history.trim(&keep)),
            Summaries::Own => history.compact_counted(model, &keep).await,
            Summaries::Other(other) => other.get().compact(history, &keep).await,
        };
        // A conversation that is too long would fail, so it loses its beginning where nothing can
        // sum it up.
        let shortened = summed_up.unwrap_or_else(|failed| {
            let mut trimmed = history.trim(&keep);
            trimmed.summary_error = Some(failed.error.to_string());
            trimmed.usage = failed.usage;
            trimmed
        });
        self.usage += shortened.usage;
        if shortened.is_nothing() {
            return;
        }
        self.measured = None;
        if let Some(listener) = &mut self.listener {
            (listener.get())(&shortened);
        }
    }

    /// Takes in what the provider has counted for a request with so many messages.
    pub(crate) fn measure(&mut self, messages: usize, tokens: u64) {
        // Some providers report no usage.
        self.measured = (tokens > 0).then_some(MeasuredRequest { messages, tokens });
    }

    /// Returns the tokens of the last request, and an estimate of the messages that were added
    /// since.
    fn tokens_now(&self, history: &History) -> Option<u64> {
        let measured = self.measured?;
        let added = history.messages().get(measured.messages..)?;
        let estimates = added.iter().map(Message::estimated_tokens);
        Some(measured.tokens + estimates.sum::<u64>())
    }

    /// Returns the tokens that summaries have used since the last call.
    pub(crate) fn take_usage(&mut self) -> TokenUsage {
        std::mem::take(&mut self.usage)
    }
}

impl fmt::Debug for HistoryKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryKeeper")
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentLoop;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Notify;
    use tool_core::ToolError;
    use tool_core::session::{ModelRequest, ModelStep, ReplyFinish};
    use tool_core::testing::ScriptedModel;
    use tool_core::{Mode, Policy, Runtime, ToolCall, ToolContext, tool};

    /// Look something up.
    #[tool(category = "retrieval")]
    fn look(number: u32) -> String {
        format!("{number} {}", "x".repeat(400))
    }

    /// Answers each message, after a call of `look`, and counts the messages that it reads.
    struct Clerk {
        longest: Arc<AtomicUsize>,
        steps: usize,
        calls: usize,
        /// The tokens that the provider counts for each message.
        tokens: u64,
    }

    impl Clerk {
        fn new(calls: usize) -> Self {
            Self {
                longest: Arc::default(),
                steps: 0,
                calls,
                tokens: 0,
            }
        }
    }

    impl Model for Clerk {
        async fn step(&mut self, request: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
            let count = request.history.len();
            self.longest.fetch_max(count, Ordering::Relaxed);
            self.steps += 1;
            let answers = self.steps.is_multiple_of(self.calls + 1);
            let arguments = format!(r#"{{"number": {}}}"#, self.steps);
            let mut step = if answers {
                ModelStep::says("Here.")
            } else {
                ModelStep::calls([ToolCall::new("", "look", arguments)])
            };
            step.usage.input = self.tokens * count as u64;
            Ok(step)
        }
    }

    async fn agent<M: Model>(model: M) -> AgentLoop<M> {
        let tools = ToolContext::builder().with(look).build().expect("builds");
        let policy = Policy::text()
            .max_tool_steps(1_000)
            .max_calls(None)
            .repeated_calls(None);
        let runtime = Runtime::builder(tools)
            .policy(policy)
            .build()
            .expect("builds");
        let session = runtime.session("s-1", Mode::Text).await.expect("opens");
        AgentLoop::new(session, model)
    }

    fn texts<M: Model>(agent: &AgentLoop<M>) -> Vec<String> {
        let messages = agent.history().messages().iter();
        let text = |message: &Message| match message {
            Message::User(said) => said.text().into_owned(),
            Message::Assistant { text, .. } => text.clone().unwrap_or_default(),
            _ => "result".to_owned(),
        };
        messages.map(text).collect()
    }

    #[tokio::test]
    async fn ten_thousand_turns_keep_few_messages() {
        let clerk = Clerk::new(1);
        let longest = Arc::clone(&clerk.longest);
        let mut agent = agent(clerk).await.keep(Keep::turns(20));
        for turn in 0..10_000 {
            let reply = agent.prompt(format!("Look {turn}")).await;
            assert_eq!(reply.text.as_deref(), Some("Here."));
        }
        // Twenty turns of four messages, and the first message of the user.
        assert_eq!(agent.history().messages().len(), 81);
        // The first turn is whole until the limit is exceeded.
        assert!(longest.load(Ordering::Relaxed) <= 84);
        assert_eq!(agent.history().messages()[0], Message::user("Look 0"));
        assert!(agent.history().check().is_empty());
    }

    #[tokio::test]
    async fn a_single_long_turn_stays_within_the_limit() {
        let clerk = Clerk::new(500);
        let longest = Arc::clone(&clerk.longest);
        let mut agent = agent(clerk).await.keep(Keep::messages(21));
        let reply = agent.prompt("Look 500 times").await;
        assert_eq!(reply.steps, 500);
        assert_eq!(longest.load(Ordering::Relaxed), 21);
        assert_eq!(texts(&agent)[0], "Look 500 times");
    }

    #[tokio::test]
    async fn counted_tokens_decide_at_a_share_of_the_context() {
        // The provider counts 1,000 tokens a message, of a context of 10,000.
        let clerk = Clerk {
            tokens: 1_000,
            ..Clerk::new(0)
        };
        let removed = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&removed);
        let mut agent = agent(clerk)
            .await
            .keep(Keep::share(0.8).window(10_000))
            .on_shortened(move |shortened| {
                counter.fetch_add(shortened.removed.len(), Ordering::Relaxed);
            });
        for _ in 0..4 {
            let _reply = agent.prompt("Look").await;
        }
        assert_eq!(removed.load(Ordering::Relaxed), 0);
        assert_eq!(agent.history().messages().len(), 8);
        let _reply = agent.prompt("Look").await;
        assert_eq!(
            removed.load(Ordering::Relaxed),
            0,
            "the last request had 7 messages"
        );
        let _reply = agent.prompt("Look").await;
        let left = agent.history().messages().len();
        assert!((2..=5).contains(&left), "{left} are left");
        assert_eq!(removed.load(Ordering::Relaxed) + left, 12);
    }

    #[tokio::test]
    async fn the_model_of_the_conversation_sums_up() {
        let script = ScriptedModel::new()
            .says("a0")
            .says("a1")
            .says("Two questions.")
            .says("a2");
        let mut agent = agent(script).await.keep(Keep::turns(1)).sum_up();
        for turn in 0..3 {
            let _reply = agent.prompt(format!("q{turn}")).await;
        }
        let texts = texts(&agent);
        assert_eq!(texts.len(), 4, "{texts:?}");
        assert!(texts[1].contains("Two questions."), "{texts:?}");
        assert_eq!(texts[2..], ["q2", "a2"]);
        agent.model_mut().assert_done();
    }

    #[tokio::test]
    async fn tokens_of_a_summary_count_in_the_reply() {
        let mut summary = ModelStep::says("Two questions.");
        summary.usage.output = 7;
        let script = ScriptedModel::new().says("a0").says("a1").says("a2");
        let mut agent = agent(script)
            .await
            .keep(Keep::turns(1))
            .sum_up_with(ScriptedModel::new().then(summary));
        let mut usage = Vec::new();
        for turn in 0..3 {
            usage.push(agent.prompt(format!("q{turn}")).await.usage.output);
        }
        assert_eq!(usage, [0, 0, 7]);
    }

    #[tokio::test]
    async fn tokens_of_a_failed_summary_count_in_the_reply() {
        let mut cut_off = ModelStep::says("Two");
        cut_off.finish = ReplyFinish::Length;
        cut_off.usage.output = 7;
        let script = ScriptedModel::new().says("a0").says("a1").says("a2");
        let mut agent = agent(script)
            .await
            .keep(Keep::turns(1))
            .sum_up_with(ScriptedModel::new().then(cut_off));
        let mut usage = Vec::new();
        for turn in 0..3 {
            usage.push(agent.prompt(format!("q{turn}")).await.usage.output);
        }
        assert_eq!(usage, [0, 0, 7]);
    }

    #[tokio::test]
    async fn without_a_summary_messages_are_removed() {
        let script = ScriptedModel::new().says("a0").says("a1").says("a2");
        let fails = ScriptedModel::new().fails(ToolError::transient("overloaded"));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&errors);
        let mut agent = agent(script)
            .await
            .keep(Keep::turns(1))
            .sum_up_with(fails)
            .on_shortened(move |shortened| {
                let error = shortened.summary_error.clone();
                found.lock().push(error);
            });
        for turn in 0..3 {
            let reply = agent.prompt(format!("q{turn}")).await;
            assert!(reply.error.is_none(), "{reply:?}");
        }
        assert_eq!(texts(&agent), ["q0", "q2", "a2"]);
        let errors = errors.lock();
        assert_eq!(*errors, [Some("TRANSIENT: overloaded".to_owned())]);
    }

    #[tokio::test]
    async fn summaries_alone_have_a_limit() {
        let clerk = Clerk {
            tokens: 50_000,
            ..Clerk::new(0)
        };
        let summaries = ScriptedModel::new().says("Much.");
        let mut agent = agent(clerk).await.sum_up_with(summaries);
        // 150,000 of the 128,000 that are assumed for an unknown model.
        for _ in 0..3 {
            let _reply = agent.prompt("Look").await;
        }
        let texts = texts(&agent);
        assert!(texts.iter().any(|text| text.contains("Much.")), "{texts:?}");
    }

    /// A model that never sums up.
    struct SilentModel(Arc<Notify>);

    impl Model for SilentModel {
        async fn step(&mut self, _: ModelRequest<'_>) -> Result<ModelStep, ToolError> {
            self.0.notify_one();
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn an_interruption_ends_a_summary() {
        let asked = Arc::<Notify>::default();
        let script = ScriptedModel::new().says("a0").says("a1").says("a2");
        let mut agent = agent(script)
            .await
            .keep(Keep::turns(1))
            .sum_up_with(SilentModel(Arc::clone(&asked)));
        for turn in 0..2 {
            let _reply = agent.prompt(format!("q{turn}")).await;
        }
        let interrupter = agent.interrupt_handle();
        let replying = tokio::spawn(async move { (agent.prompt("q2").await, agent) });
        asked.notified().await;
        interrupter.interrupt();
        let (reply, agent) = replying.await.expect("ends");
        assert!(reply.interrupted && reply.text.is_none(), "{reply:?}");
        assert_eq!(texts(&agent), ["q0", "a0", "q1", "a1", "q2"]);
    }

    #[test]
    fn an_agent_is_shared_where_its_model_is() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<AgentLoop<ScriptedModel>>();
    }
}

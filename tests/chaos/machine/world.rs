//! The session under test, and its observable state.

use super::model::{ACTION, Model, NOTES, Op, RETRIEVAL, Said, Seen, TOTAL};
use crate::support::{call, tools};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_core::session::StateChange;
use tool_core::{
    Category, Intent, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolError,
    ToolResponse, toolset,
};

#[derive(Clone, Default)]
struct Tools(Arc<AtomicUsize>);

#[toolset(discover = false)]
impl Tools {
    /// Find nothing under even numbers.
    #[tool(category = "retrieval")]
    fn search(&self, q: u8) -> Vec<u8> {
        self.0.fetch_add(1, Ordering::SeqCst);
        if q.is_multiple_of(2) {
            Vec::new()
        } else {
            vec![q]
        }
    }

    /// Ask a person from two on.
    #[tool(category = "action", confirm = |args| args.n >= 2)]
    async fn send(&self, n: u8) -> u8 {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        n
    }

    /// Ask for something.
    #[tool(max_calls = 5)]
    fn note(&self, ctx: &RunContext, n: u8) -> Result<u8, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        ctx.emit(match n {
            0 => Intent::SuppressAudio,
            1 => Intent::SuppressTranscript,
            2 | 6 => Intent::SetPendingMessage(format!("message {n}")),
            3 => Intent::EndVoiceSession,
            n => Intent::custom("acme.n", json!(n)).expect("a name"),
        });
        if n == 5 {
            Err(ToolError::transient("later"))
        } else {
            Ok(n)
        }
    }

    /// Only in voice.
    #[tool(modes("voice"))]
    fn speak(&self, n: u8) -> u8 {
        self.0.fetch_add(1, Ordering::SeqCst);
        n
    }
}

pub struct World {
    pub model: Model,
    session: Session,
    ran: Arc<AtomicUsize>,
    tokens: Vec<String>,
}

impl World {
    pub async fn new(voice: bool) -> Self {
        let own = Tools::default();
        let policy = Policy::text()
            .max_calls(Some(TOTAL))
            .category_budget(Category::Retrieval, Some(RETRIEVAL))
            .category_budget(Category::Action, Some(ACTION));
        let runtime = Runtime::builder(tools(own.clone()))
            .policy(policy)
            .build()
            .expect("sound");
        let mode = if voice { Mode::Voice } else { Mode::Text };
        let session = runtime.session("s", mode).await.expect("opens");
        assert_eq!(
            session
                .tools()
                .function_tool("note")
                .expect("there")
                .definition()
                .max_calls(),
            Some(NOTES)
        );
        Self {
            model: Model::new(voice),
            session,
            ran: own.0,
            tokens: Vec::new(),
        }
    }

    pub async fn does(&mut self, op: &Op) -> Said {
        match op {
            Op::Call(tool, n) => {
                let parameter = if *tool == "search" { "q" } else { "n" };
                let response = self
                    .session
                    .call(call("c", tool, json!({ parameter: n })))
                    .await;
                self.tokens.extend(
                    response
                        .meta()
                        .confirmation()
                        .map(|asked| asked.token.clone()),
                );
                said(&response)
            }
            Op::Bad(tool, n) => said(
                &self
                    .session
                    .call(ToolCall::new("c", *tool, format!("[{n}")))
                    .await,
            ),
            Op::Unknown => said(&self.session.call(call("c", "nothing", json!({}))).await),
            Op::NextTurn => {
                let turn = self.session.next_turn().await;
                if turn.ended {
                    Said::Over
                } else {
                    Said::Turn(turn.number, turn.pending_message)
                }
            }
            Op::Approve(at) => said(&self.session.approve(self.token(*at)).await),
            Op::Deny(at) => said(&self.session.deny(self.token(*at)).await),
            Op::Unsuppress => {
                self.session
                    .change(&[StateChange::AudioSuppressed(false)])
                    .await
                    .expect("a store in memory");
                Said::Nothing
            }
            Op::End => {
                self.session.end().await;
                Said::Nothing
            }
        }
    }

    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("none", |token| token)
    }

    pub async fn seen(&self) -> Seen {
        let state = self.session.state();
        let values = state.values.iter();
        Seen {
            audio: state.audio_suppressed,
            transcript: state.transcript_suppressed,
            message: state.pending_message.clone(),
            ending: state.ending,
            ended: state.ended,
            values: values
                .map(|(name, n)| (name.clone(), serde_json::from_value(n.clone()).expect("n")))
                .collect(),
            intents: self.session.intents().await.expect("the log").len(),
            ran: self.ran.load(Ordering::SeqCst),
        }
    }
}

/// Returns the kind of a response, and the figures of a limit.
fn said(response: &ToolResponse) -> Said {
    let Some(error) = response.error() else {
        return Said::Ok;
    };
    let limit = matches!(
        error.kind,
        tool_core::ErrorKind::LoopDetected | tool_core::ErrorKind::BudgetExceeded
    );
    let words = error.message.split_whitespace().filter(|_| limit);
    Said::Refused(
        error.kind,
        words.filter_map(|word| word.parse().ok()).collect(),
    )
}

//! Plays a script like a host: one session for each scene, and every call through its session.

use crate::conversation::BLOCK_USER;
use crate::script::{Scene, Step, Turn};
use std::error::Error;
use std::sync::Arc;
use tool_core::session::SessionState;
use tool_core::session::{AuditEntry, StateChange, StoreError};
use tool_core::{Intent, Mode, Runtime, Session, ToolCall, ToolContext, ToolResponse};

/// The outcome of a scene.
pub(crate) struct PlayedScene {
    pub(crate) session: String,
    pub(crate) mode: Mode,
    /// The instructions for the model.
    pub(crate) instructions: String,
    pub(crate) turns: Vec<PlayedTurn>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) audit: Vec<AuditEntry>,
}

pub(crate) struct PlayedTurn {
    /// The message that a tool of the turn before set.
    pub(crate) opening: Option<String>,
    /// The session had ended before the turn began.
    pub(crate) over: bool,
    pub(crate) guest: String,
    /// The seconds for which the guest is still blocked. The model does not get what they said.
    pub(crate) blocked_for: u32,
    pub(crate) steps: Vec<PlayedStep>,
    /// The last message, if the turn ends the session.
    pub(crate) closing: Option<String>,
    /// The state of the session at the end of the turn.
    pub(crate) at_end: Arc<SessionState>,
    /// The state of the session after the turn.
    pub(crate) after: Arc<SessionState>,
}

pub(crate) enum PlayedStep {
    Call(ToolCall, ToolResponse),
    /// The decision of the person, and the response of the pending call. `None` if no call was pending.
    Word(&'static str, Option<ToolResponse>),
    Agent(String),
    Wait(u32),
}

/// Plays all scenes with one runtime. Each mode has its own policy.
pub(crate) async fn play(
    tools: ToolContext,
    scenes: &[Scene],
) -> Result<Vec<PlayedScene>, Box<dyn Error>> {
    let runtime = Runtime::builder(tools).build()?;
    let (mut player, mut all) = (Player::default(), Vec::new());
    for (number, scene) in (1..).zip(scenes) {
        let session = runtime
            .session(format!("{}-{number}", scene.mode.as_str()), scene.mode)
            .await?;
        let turns = player.turns(&session, &scene.turns).await?;
        session.end().await;
        all.push(PlayedScene {
            session: session.id().as_str().to_owned(),
            mode: session.mode(),
            instructions: session.instructions(),
            turns,
            intents: session.intents().await?,
            audit: session.audit().await?,
        });
    }
    Ok(all)
}

#[derive(Default)]
struct Player {
    calls: u32,
    /// The token of the pending call.
    waiting: Option<String>,
    /// The message to say first, in this session or the next.
    opening: Option<String>,
    /// The time of the script, in seconds.
    now: u32,
    /// The end of the guest's block.
    blocked_until: u32,
}

impl Player {
    async fn turns(
        &mut self,
        session: &Session,
        turns: &[Turn],
    ) -> Result<Vec<PlayedTurn>, StoreError> {
        let (mut played, mut over) = (Vec::new(), false);
        for turn in turns {
            let blocked_for = self.blocked_until.saturating_sub(self.now);
            if blocked_for > 0 {
                played.push(self.blocked_turn(session, turn, blocked_for).await);
                continue;
            }
            let opening = self.opening.take();
            let mut steps = Vec::new();
            for step in &turn.steps {
                steps.push(self.step(session, step).await);
            }
            let at_end = session.state();
            let next = session.next_turn().await;
            if !next.ended {
                self.heard(session).await?;
            }
            let (guest, after) = (turn.guest.clone(), session.state());
            let message = next.pending_message;
            let (closing, coming) = match message {
                Some(_) if over => (None, None),
                Some(message) if next.ended => (Some(message), None),
                message => (None, message),
            };
            played.push(PlayedTurn {
                opening,
                over,
                guest,
                blocked_for,
                steps,
                closing,
                at_end,
                after,
            });
            (self.opening, over) = (coming, next.ended);
        }
        Ok(played)
    }

    /// Passes over what a blocked guest says. Only time goes on.
    async fn blocked_turn(
        &mut self,
        session: &Session,
        turn: &Turn,
        blocked_for: u32,
    ) -> PlayedTurn {
        let mut steps = Vec::new();
        for step in turn
            .steps
            .iter()
            .filter(|step| matches!(step, Step::Wait(_)))
        {
            steps.push(self.step(session, step).await);
        }
        let (guest, state) = (turn.guest.clone(), session.state());
        let (at_end, after) = (Arc::clone(&state), state);
        PlayedTurn {
            opening: None,
            over: false,
            guest,
            blocked_for,
            steps,
            closing: None,
            at_end,
            after,
        }
    }

    /// Blocks the guest where a tool asks for it. The runtime only records an intent that it does not know.
    fn block(&mut self, response: &ToolResponse) {
        for intent in response.intents() {
            if let Intent::Custom { name, payload } = intent
                && name == BLOCK_USER
            {
                let seconds = payload["seconds"]
                    .as_u64()
                    .and_then(|seconds| u32::try_from(seconds).ok());
                self.blocked_until = self.now + seconds.unwrap_or_default();
            }
        }
    }

    /// In voice the state outlives the turn. The next words of the guest may be meant for the agent again.
    async fn heard(&self, session: &Session) -> Result<(), StoreError> {
        session
            .change(&[
                StateChange::AudioSuppressed(false),
                StateChange::TranscriptSuppressed(false),
            ])
            .await
    }

    async fn step(&mut self, session: &Session, step: &Step) -> PlayedStep {
        match step {
            Step::Call { name, arguments } => {
                self.calls += 1;
                let call = ToolCall::new(format!("call-{}", self.calls), name, arguments);
                let response = session.call(call.clone()).await;
                // The token is for the host only. A model with the token could approve its own call.
                if let Some(confirmation) = response.meta().confirmation() {
                    self.waiting = Some(confirmation.token.clone());
                }
                self.block(&response);
                PlayedStep::Call(call, response)
            }
            Step::Approve => match self.waiting.take() {
                Some(token) => PlayedStep::Word("approve", Some(session.approve(&token).await)),
                None => PlayedStep::Word("approve", None),
            },
            Step::Deny => match self.waiting.take() {
                Some(token) => PlayedStep::Word("deny", Some(session.deny(&token).await)),
                None => PlayedStep::Word("deny", None),
            },
            Step::Agent(words) => PlayedStep::Agent(words.clone()),
            Step::Wait(seconds) => {
                self.now += seconds;
                PlayedStep::Wait(*seconds)
            }
        }
    }
}

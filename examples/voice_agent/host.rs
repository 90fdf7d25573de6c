//! The host's side of the conversation: it shows what happens, and decides what the session leaves to it.

use crate::audio;
use std::error::Error;
use std::io::Write;
use tokio::task::JoinHandle;
use tool_adapters::agent::AgentLoop;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::{LiveEvent, LiveInput, LiveLoop};
use tool_core::session::{Model, StateChange};
use tool_core::{Intent, Session, ToolResponse};

/// The place for what happens. Standard output may be taken by the model's audio.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Output,
    Error,
}

impl Screen {
    pub(crate) fn line(self, text: impl AsRef<str>) {
        match self {
            Self::Output => println!("{}", text.as_ref()),
            Self::Error => eprintln!("{}", text.as_ref()),
        }
    }

    /// Sends a text of the guest, and shows the reply.
    pub(crate) async fn says<M: Model>(self, agent: &mut AgentLoop<M>, text: &str) {
        self.line(format!("guest: {text}"));
        let reply = agent.prompt(text).await;
        for response in &reply.responses {
            self.line(format!("  < {}", outcome(response)));
            for intent in response.intents() {
                self.line(format!("  ! {}", intent.name()));
            }
        }
        self.line(format!("agent: {}", reply.text.unwrap_or_default()));
    }

    /// Shows the measurements of the session.
    pub(crate) async fn report<M: Model>(self, agent: &AgentLoop<M>) {
        let metrics = agent.session().metrics();
        let (calls, errors, speech) = (metrics.total_calls, metrics.total_errors, metrics.speech);
        self.line(format!(
            "calls: {calls}, of which {errors} waited or failed; turns: {}",
            metrics.turns
        ));
        let (heard, spoken) = (speech.heard.as_secs_f64(), speech.spoken.as_secs_f64());
        self.line(format!(
            "heard {heard} s, spoke {spoken} s, interrupted {} times",
            speech.interruptions
        ));
        self.line(format!(
            "largest context: {} tokens",
            metrics.context.peak_tokens
        ));
        let intents = agent.session().intents().await.unwrap_or_default();
        let intents = intents
            .iter()
            .map(Intent::name)
            .collect::<Vec<_>>()
            .join(", ");
        self.line(format!(
            "intents: {intents}; messages: {}",
            agent.history().messages().len()
        ));
    }
}

pub(crate) struct Host {
    screen: Screen,
    session: Session,
    input: LiveInput,
    /// The token of the call about which the model asks the guest.
    question: Option<String>,
    /// True while the answer must not be spoken.
    silent: bool,
    /// True once a tool has asked for another form of the conversation.
    leaves: bool,
    /// True after a turn, until the guest or the model speaks again.
    answered: bool,
}

impl Host {
    pub(crate) fn new(screen: Screen, session: Session, input: LiveInput) -> Self {
        Self {
            screen,
            session,
            input,
            question: None,
            silent: false,
            leaves: false,
            answered: false,
        }
    }

    /// Attends the conversation until it ends.
    pub(crate) async fn attend(&mut self, live: &mut LiveLoop) -> Result<(), Box<dyn Error>> {
        while let Some(event) = live.next().await {
            self.handle(event).await?;
        }
        let suppressed = live.suppressed();
        self.screen.line(format!(
            "[{} bytes of audio were not spoken]",
            suppressed.audio_bytes / 4 * 3
        ));
        Ok(())
    }

    /// Attends the conversation until the last input was answered.
    pub(crate) async fn attend_while(
        &mut self,
        live: &mut LiveLoop,
        mut microphone: JoinHandle<()>,
    ) -> Result<(), Box<dyn Error>> {
        let mut is_silent = false;
        loop {
            tokio::select! {
                _ = &mut microphone, if !is_silent => is_silent = true,
                event = live.next() => match event {
                    Some(event) => self.handle(event).await?,
                    None => return Ok(()),
                },
            }
            if is_silent && self.answered {
                self.input.close();
            }
        }
    }

    async fn handle(&mut self, event: LiveEvent) -> Result<(), Box<dyn Error>> {
        let screen = self.screen;
        match event {
            LiveEvent::Connected { resumed: false } => screen.line("[connected]"),
            LiveEvent::Connected { resumed: true } => {
                screen.line("[connected again: the conversation goes on]");
            }
            LiveEvent::Disconnected { error, .. } => {
                screen.line(format!("[disconnected: {}]", error.message()));
            }
            LiveEvent::Model(event) => {
                self.answered &= matches!(event, Event::Unknown(_) | Event::Usage(_));
                self.model(&event)?;
            }
            LiveEvent::Heard(text) => {
                self.answered = false;
                self.heard(&text).await?;
            }
            LiveEvent::Answered(response) => {
                screen.line(format!("  < {}", outcome(&response)));
                self.question = response
                    .meta()
                    .confirmation()
                    .map(|asked| asked.token.clone());
            }
            LiveEvent::Updated(response) => {
                screen.line(format!("  < later: {}", outcome(&response)));
            }
            LiveEvent::Intent { intent, .. } => {
                screen.line(format!("  ! {}", intent.name()));
                self.silent |= intent == Intent::SuppressAudio;
                self.leaves |= matches!(intent, Intent::Navigate(_));
            }
            LiveEvent::Turn(_) => self.end_turn().await?,
            LiveEvent::Failed(error) => return Err(error.to_string().into()),
            _ => {}
        }
        Ok(())
    }

    /// Shows what the model says and does, and plays its audio.
    fn model(&self, event: &Event) -> Result<(), Box<dyn Error>> {
        match event {
            Event::Text(text) => self.screen.line(format!("agent: {text}")),
            Event::Audio { data, .. } if self.screen == Screen::Error => {
                std::io::stdout().write_all(&audio::decoded(data)?)?;
            }
            Event::Audio { data, .. } => {
                self.screen.line(format!(
                    "agent: [{} bytes of audio]",
                    audio::decoded(data)?.len()
                ));
            }
            Event::Call(call) => {
                self.screen
                    .line(format!("  > {} {}", call.name(), call.arguments()));
            }
            Event::Interrupted => self.screen.line("[the loudspeaker falls silent]"),
            _ => {}
        }
        Ok(())
    }

    /// Shows what the guest says. A yes to the model's question approves the call that waits.
    async fn heard(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        self.screen.line(format!("guest: {text}"));
        if text.trim().to_lowercase().starts_with("yes")
            && let Some(token) = self.question.take()
        {
            self.input.approve(token).await?;
        }
        Ok(())
    }

    /// After an answer that must not be spoken, the next ones may be.
    async fn end_turn(&mut self) -> Result<(), Box<dyn Error>> {
        self.answered = true;
        if std::mem::take(&mut self.silent) {
            self.session
                .change(&[StateChange::AudioSuppressed(false)])
                .await?;
        }
        if self.leaves {
            self.input.close();
        }
        Ok(())
    }
}

fn outcome(response: &ToolResponse) -> String {
    match response.error() {
        None => response.data_json().unwrap_or_default().to_owned(),
        Some(error) => error.kind.to_string(),
    }
}

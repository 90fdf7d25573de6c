//! The printed report of a conversation.

use crate::play::{PlayedScene, PlayedStep, PlayedTurn};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tool_core::call::OutputKind;
use tool_core::session::{CallOutcome, SessionState};
use tool_core::{Intent, ToolResponse};

/// Writes all scenes, and then how many calls ran and which errors stopped the others.
pub(crate) fn write(out: &mut impl Write, scenes: &[PlayedScene]) -> io::Result<()> {
    for scene in scenes {
        write_scene(out, scene)?;
    }
    let turns = scenes.iter().flat_map(|scene| &scene.turns);
    let responses = turns
        .flat_map(|turn| &turn.steps)
        .filter_map(PlayedStep::response)
        .collect::<Vec<_>>();
    let mut refused = BTreeMap::new();
    for error in responses.iter().filter_map(|response| response.error()) {
        *refused.entry(error.kind.as_str()).or_insert(0) += 1;
    }
    let refused = refused
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect::<Vec<_>>()
        .join(", ");
    let ran = responses.iter().filter(|response| response.is_ok()).count();
    writeln!(
        out,
        "answers: {}, ok {ran}, {}",
        responses.len(),
        or(refused, "no errors")
    )
}

fn write_scene(out: &mut impl Write, scene: &PlayedScene) -> io::Result<()> {
    writeln!(
        out,
        "== {} session `{}`\n",
        scene.mode.as_str(),
        scene.session
    )?;
    writeln!(
        out,
        "instructions, {} characters:",
        scene.instructions.chars().count()
    )?;
    for line in scene.instructions.lines() {
        writeln!(out, "{}", format!("  | {line}").trim_end())?;
    }
    for (number, turn) in (1..).zip(&scene.turns) {
        let note = match turn.blocked_for {
            0 if turn.over => ", after the session was over".to_owned(),
            0 => String::new(),
            seconds => format!(", not heard: the guest is blocked for {seconds} s"),
        };
        writeln!(out, "\n-- turn {number}{note}")?;
        write_turn(out, turn)?;
    }
    writeln!(out, "\nintents of the session: {}", intents(&scene.intents))?;
    writeln!(
        out,
        "audit log:{}",
        if scene.audit.is_empty() { " empty" } else { "" }
    )?;
    for entry in &scene.audit {
        let at = entry.at.strftime("%H:%M:%S%.3f");
        writeln!(
            out,
            "  {at} {} {}: {}",
            entry.call_id,
            entry.tool,
            outcome(entry.outcome)
        )?;
        for carried_out in &entry.intents {
            writeln!(
                out,
                "    {}: {}",
                carried_out.intent.name(),
                carried_out.effect
            )?;
        }
    }
    writeln!(out)
}

fn write_turn(out: &mut impl Write, turn: &PlayedTurn) -> io::Result<()> {
    if let Some(opening) = &turn.opening {
        writeln!(out, "agent, first: {opening}")?;
    }
    writeln!(out, "guest: {}", turn.guest)?;
    for step in &turn.steps {
        match step {
            PlayedStep::Call(call, response) => {
                writeln!(
                    out,
                    "  > {} {}   ({})",
                    call.name(),
                    call.arguments(),
                    call.id()
                )?;
                write_response(out, response)?;
            }
            PlayedStep::Word(word, Some(response)) => {
                writeln!(out, "  {word}")?;
                write_response(out, response)?;
            }
            PlayedStep::Word(word, None) => writeln!(out, "  {word}\n    no call waits")?,
            PlayedStep::Agent(words) => writeln!(out, "agent: {words}")?,
            PlayedStep::Wait(seconds) => writeln!(out, "({seconds} s later)")?,
        }
    }
    if let Some(closing) = &turn.closing {
        writeln!(out, "agent, last: {closing}")?;
    }
    writeln!(
        out,
        "state as the turn ends: {}; after it: {}",
        state(&turn.at_end),
        state(&turn.after)
    )
}

/// Writes a summary line, and then the whole envelope.
fn write_response(out: &mut impl Write, response: &ToolResponse) -> io::Result<()> {
    match response.error() {
        None if response.kind() == OutputKind::Stop => {
            writeln!(out, "    ok, and no reply is wanted")?;
        }
        None => writeln!(out, "    ok, {} characters", response.meta().size_chars())?,
        // A message can have several lines.
        Some(error) => writeln!(
            out,
            "    {}: {}",
            error.kind,
            error.message.replace('\n', "\n      ")
        )?,
    }
    if let Some(confirmation) = response.meta().confirmation() {
        writeln!(
            out,
            "    a person is asked until {}: {}",
            confirmation.expires_at, confirmation.summary
        )?;
    }
    if !response.intents().is_empty() {
        writeln!(out, "    intents: {}", intents(response.intents()))?;
    }
    writeln!(out, "    {}", response.to_json())
}

fn intents(intents: &[Intent]) -> String {
    or(
        intents
            .iter()
            .map(Intent::name)
            .collect::<Vec<_>>()
            .join(", "),
        "none",
    )
}

/// Lists the parts of the state that are set.
fn state(state: &SessionState) -> String {
    let mut set = Vec::new();
    for (yes, word) in [
        (state.audio_suppressed, "audio suppressed"),
        (state.transcript_suppressed, "transcript suppressed"),
        (state.ending, "ending"),
        (state.ended, "ended"),
    ] {
        set.extend(yes.then(|| word.to_owned()));
    }
    set.extend(
        state
            .pending_message
            .iter()
            .map(|message| format!("to be said next {message:?}")),
    );
    set.extend(
        state
            .values
            .iter()
            .map(|(name, value)| format!("{name} = {value}")),
    );
    or(set.join(", "), "nothing set")
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() {
        otherwise.to_owned()
    } else {
        text
    }
}

impl PlayedStep {
    /// Returns the envelope, if there is one.
    pub(crate) fn response(&self) -> Option<&ToolResponse> {
        match self {
            Self::Call(_, response) => Some(response),
            Self::Word(_, response) => response.as_ref(),
            Self::Agent(_) | Self::Wait(_) => None,
        }
    }
}

fn outcome(outcome: CallOutcome) -> String {
    match outcome {
        CallOutcome::Succeeded => "succeeded".to_owned(),
        CallOutcome::Failed(kind) => format!("failed: {kind}"),
        CallOutcome::Refused(kind) => format!("refused: {kind}"),
        _ => "ended".to_owned(),
    }
}

//! The script of a conversation, one line for each action of the guest and the model.
//!
//! ```text
//! # a note
//! == text                              a session in this mode, or in `voice`
//! guest: When is the pool open?        a turn
//! > kb_search {"query": "pool"}        a call; the arguments are sent unchanged
//! approve                              the person approves the pending call, or `deny`
//! agent: From seven.                   what the model says
//! wait 30                              the seconds until what comes next
//! ```

use tool_core::Mode;

/// A session of the script.
#[derive(Debug, PartialEq)]
pub(crate) struct Scene {
    pub(crate) mode: Mode,
    pub(crate) turns: Vec<Turn>,
}

/// A turn: the actions after one message of the guest.
#[derive(Debug, PartialEq)]
pub(crate) struct Turn {
    pub(crate) guest: String,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Call { name: String, arguments: String },
    Approve,
    Deny,
    Agent(String),
    Wait(u32),
}

/// Parses a script. An error names the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Scene>, String> {
    let mut scenes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            read(line, &mut scenes).map_err(|problem| format!("line {number}: {problem}"))?;
        }
    }
    if scenes.is_empty() {
        Err("there is no session; begin one with `== text` or `== voice`".to_owned())
    } else {
        Ok(scenes)
    }
}

fn read(line: &str, scenes: &mut Vec<Scene>) -> Result<(), String> {
    if let Some(mode) = line.strip_prefix("==") {
        scenes.push(Scene {
            mode: read_mode(mode.trim())?,
            turns: Vec::new(),
        });
        return Ok(());
    }
    let scene = scenes
        .last_mut()
        .ok_or("a session comes first, `== text` or `== voice`")?;
    if let Some(words) = line.strip_prefix("guest:") {
        scene.turns.push(Turn {
            guest: words.trim().to_owned(),
            steps: Vec::new(),
        });
        return Ok(());
    }
    let step = read_step(line)?;
    let turn = scene
        .turns
        .last_mut()
        .ok_or("the guest speaks first, `guest: ..`")?;
    turn.steps.push(step);
    Ok(())
}

fn read_mode(word: &str) -> Result<Mode, String> {
    match word {
        "text" => Ok(Mode::Text),
        "voice" => Ok(Mode::Voice),
        _ => Err(format!("no mode `{word}`; there are `text` and `voice`")),
    }
}

fn read_step(line: &str) -> Result<Step, String> {
    if let Some(call) = line.strip_prefix('>') {
        // The arguments are not checked here, as a model may send anything.
        let (name, arguments) = call
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((call.trim(), ""));
        if name.is_empty() {
            return Err("a call needs a name, `> name {..}`".to_owned());
        }
        return Ok(Step::Call {
            name: name.to_owned(),
            arguments: arguments.trim().to_owned(),
        });
    }
    if let Some(seconds) = line.strip_prefix("wait ") {
        let unfit = |_| format!("`{seconds}` is not a number of seconds, as in `wait 30`");
        return seconds.trim().parse().map(Step::Wait).map_err(unfit);
    }
    match (line, line.strip_prefix("agent:")) {
        ("approve", _) => Ok(Step::Approve),
        ("deny", _) => Ok(Step::Deny),
        (_, Some(words)) => Ok(Step::Agent(words.trim().to_owned())),
        _ => Err(format!(
            "`{line}` is none of `guest: ..`, `> name {{..}}`, `approve`, `deny`, `agent: ..`, `wait 30`"
        )),
    }
}

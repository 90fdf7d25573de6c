//! The faults of a connection, and those that leave no trace.

use crate::recordings::Recording;
use serde_json::Value;
use tool_adapters::Provider;

/// The number of events of a recording that are damaged in the sample.
const SAMPLE: usize = 12;

/// A fault of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The event does not arrive.
    Dropped,
    /// The event ends in the middle.
    Cut,
    /// The event arrives twice.
    Doubled,
    /// A byte of the event is another.
    Garbled,
    /// The event arrives after the next one.
    Moved,
    /// Nothing arrives after the event.
    Last,
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::Dropped,
        Self::Cut,
        Self::Doubled,
        Self::Garbled,
        Self::Moved,
        Self::Last,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Cut => "cut",
            Self::Doubled => "doubled",
            Self::Garbled => "garbled",
            Self::Moved => "moved",
            Self::Last => "last",
        }
    }
}

/// The visibility of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Always,
    /// The damaged stream is another stream of the same protocol: no reader can tell.
    Never,
}

/// A recording with one fault.
pub(crate) struct Damaged {
    pub(crate) fault: Fault,
    /// The number of the event, from 1 on.
    pub(crate) event: usize,
    pub(crate) body: Vec<u8>,
    pub(crate) shown: Shown,
}

/// Returns the recording with each fault of each event, or of a sample of the events.
pub(crate) fn all(recording: &Recording, every_event: bool) -> Vec<Damaged> {
    let events = events(&recording.body);
    let step = if every_event {
        1
    } else {
        events.len().div_ceil(SAMPLE).max(1)
    };
    let mut damaged = Vec::new();
    for at in (0..events.len()).step_by(step) {
        for fault in Fault::ALL {
            damaged.extend(damage(recording.provider, &events, at, fault));
        }
    }
    damaged
}

/// Splits a body into its events, each with what ends it.
fn events(body: &[u8]) -> Vec<&[u8]> {
    let end: &[u8] = if body.starts_with(b"{") || body.starts_with(b"[") {
        b"\n"
    } else {
        b"\n\n"
    };
    let has_returns = body.windows(4).any(|bytes| bytes == b"\r\n\r\n");
    let end = if has_returns && end.len() == 2 {
        b"\r\n\r\n"
    } else {
        end
    };
    // A whole answer that is printed over several lines is one event.
    if end == b"\n" && serde_json::from_slice::<Value>(body).is_ok() {
        return vec![body];
    }
    let mut events = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.windows(end.len()).position(|bytes| bytes == end) {
        let (event, after) = rest.split_at(at + end.len());
        events.push(event);
        rest = after;
    }
    if !rest.is_empty() {
        events.push(rest);
    }
    events
}

fn damage(provider: Provider, events: &[&[u8]], at: usize, fault: Fault) -> Vec<Damaged> {
    let event = events[at];
    let with = |changed: Vec<Vec<u8>>, shown: Shown| {
        let before = events[..at].concat();
        let after = events[at + 1..].concat();
        let body = [before, changed.concat(), after].concat();
        Damaged {
            fault,
            event: at + 1,
            body,
            shown,
        }
    };
    let own = event.to_vec();
    match fault {
        Fault::Dropped => vec![with(Vec::new(), traced(provider, event))],
        Fault::Doubled => vec![with(vec![own.clone(), own], traced(provider, event))],
        Fault::Moved => {
            let Some(next) = events.get(at + 1) else {
                return Vec::new();
            };
            let mut moved = events.to_vec();
            moved.swap(at, at + 1);
            let shown = if traced(provider, event) == Shown::Never {
                traced(provider, next)
            } else {
                Shown::Always
            };
            vec![Damaged {
                fault,
                event: at + 1,
                body: moved.concat(),
                shown,
            }]
        }
        Fault::Cut => {
            let ending = event.len()
                - event
                    .iter()
                    .rev()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count();
            let cut = [&event[..ending / 2], &event[ending..]].concat();
            vec![with(vec![cut], Shown::Always)]
        }
        Fault::Last => vec![Damaged {
            fault,
            event: at + 1,
            body: events[..=at].concat(),
            shown: Shown::Always,
        }],
        Fault::Garbled => garbled(event)
            .into_iter()
            .map(|(changed, shown)| with(vec![changed], shown))
            .collect(),
    }
}

/// Returns the event with one byte changed, at three places and in two ways.
fn garbled(event: &[u8]) -> Vec<(Vec<u8>, Shown)> {
    let Some(start) = event.iter().position(|byte| *byte == b'{') else {
        return Vec::new();
    };
    let length = event.len() - start;
    let mut changed = Vec::new();
    for part in [1, 3, 5] {
        let at = start + length * part / 6;
        for mask in [0x80, 0x01] {
            let mut garbled = event.to_vec();
            garbled[at] ^= mask;
            let shown = if is_another_event(event, &garbled) {
                Shown::Never
            } else {
                Shown::Always
            };
            changed.push((garbled, shown));
        }
    }
    changed
}

/// Returns true if both are JSON with the same names: only a value is another, as the model could have written it. The names in
/// the arguments of a call are the model's, too.
fn is_another_event(event: &[u8], garbled: &[u8]) -> bool {
    fn names(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    into.push(name.clone());
                    if !matches!(name.as_str(), "input" | "args" | "arguments") {
                        names(value, into);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, into)),
            _ => {}
        }
    }
    let parsed = |event: &[u8]| {
        let start = event.iter().position(|byte| *byte == b'{')?;
        let value = serde_json::from_slice::<Value>(event.get(start..)?).ok()?;
        let mut found = vec![String::from_utf8_lossy(&event[..start]).into_owned()];
        names(&value, &mut found);
        Some(found)
    };
    let (Some(before), Some(after)) = (parsed(event), parsed(garbled)) else {
        return false;
    };
    before == after
}

/// Returns whether a protocol shows that this event is missing, is there twice, or is at another place. Responses repeats all
/// that its pieces bring. The others do not number their pieces: a model may write one twice, or not at all.
fn traced(provider: Provider, event: &[u8]) -> Shown {
    if provider == Provider::OpenAiResponses {
        return Shown::Always;
    }
    let text = String::from_utf8_lossy(event);
    let is_piece = match provider {
        Provider::Anthropic => text.contains("content_block_delta"),
        Provider::Cohere => text.contains("-delta\""),
        Provider::Bedrock => text.contains("contentBlockDelta"),
        // A chunk with a part of the answer.
        _ => {
            let texts = [
                "\"content\":\"",
                "\"content\": \"",
                "\"refusal\":\"",
                "\"text\"",
            ];
            let calls = ["\"arguments\"", "\"functionCall\"", "\"tool_calls\""];
            let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
            has(&texts) || has(&calls)
        }
    };
    if is_piece {
        Shown::Never
    } else {
        Shown::Always
    }
}

//! Streams with faults: what no stream of a host has, and what broken connections and proxies make of one.

use crate::Provider;
use crate::event::Event;
use crate::tests::fixtures::calls;
use crate::tests::streams::{events, summary};

/// A fault of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// The number of the event, from 0.
    pub(crate) event: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Dropped,
    /// The second half of the event is missing.
    Cut,
    Doubled,
    /// A byte is another one, so that the event is not JSON.
    Garbled,
    /// A letter of the name of a member is another one.
    Misspelled(String),
    /// The event and the one after it have changed places.
    Swapped,
}

/// Reads a stream with each fault. Whatever came, no call runs that the whole stream does not have, and a complete answer has
/// the whole text. `hides` returns true for a fault that the protocol cannot show.
pub(crate) fn check_faults(
    provider: Provider,
    whole: &[String],
    encode: impl Fn(&[String]) -> String,
    hides: impl Fn(&Fault) -> bool,
) {
    let read = |stream: &[String]| events(provider, [encode(stream).as_bytes()]);
    let expected = Answer::of(&read(whole));
    assert!(
        expected.is_complete && !expected.calls.is_empty(),
        "{expected:?}"
    );
    for (fault, stream) in faults(whole) {
        let events = read(&stream);
        let answer = Answer::of(&events);
        let is_hidden = hides(&fault);
        let is_same = answer
            .calls
            .iter()
            .all(|call| expected.calls.contains(call))
            && answer.text == expected.text;
        let is_right = !answer.is_complete || is_same;
        assert!(
            answer.is_complete || answer.calls.is_empty(),
            "{fault:?}: {}",
            summary(&events)
        );
        assert!(is_right || is_hidden, "{fault:?}: {}", summary(&events));
        assert!(
            answer.calls.len() <= expected.calls.len(),
            "{fault:?}: {}",
            summary(&events)
        );
    }
}

/// An answer as a caller sees it.
#[derive(Debug, PartialEq)]
struct Answer {
    is_complete: bool,
    text: String,
    /// The calls whose arguments are an object. The others are answered with an error.
    calls: Vec<(String, String)>,
}

impl Answer {
    fn of(events: &[Event]) -> Self {
        let texts = events.iter().filter_map(|event| {
            if let Event::Text(text) = event {
                Some(&**text)
            } else {
                None
            }
        });
        let runs = calls(events)
            .into_iter()
            .filter(|call| serde_json::from_str::<serde_json::Map<_, _>>(call.arguments()).is_ok());
        Self {
            is_complete: events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            text: texts.collect(),
            calls: runs
                .map(|call| (call.name().to_owned(), call.arguments().to_owned()))
                .collect(),
        }
    }
}

/// Returns each fault of a stream.
fn faults(whole: &[String]) -> Vec<(Fault, Vec<String>)> {
    let mut faults = Vec::new();
    for event in 0..whole.len() {
        let mut add = |kind: FaultKind, change: &dyn Fn(&mut Vec<String>)| {
            let mut stream = whole.to_vec();
            change(&mut stream);
            faults.push((Fault { kind, event }, stream));
        };
        add(FaultKind::Dropped, &|stream| drop(stream.remove(event)));
        add(FaultKind::Cut, &|stream| {
            let half = (0..=stream[event].len() / 2)
                .rev()
                .find(|at| stream[event].is_char_boundary(*at));
            stream[event].truncate(half.unwrap_or(0));
        });
        add(FaultKind::Doubled, &|stream| {
            stream.insert(event, stream[event].clone());
        });
        add(FaultKind::Garbled, &|stream| {
            let at = stream[event].rfind([':', '"', '}']).expect("an object");
            stream[event].replace_range(at..=at, "\u{1}");
        });
        for (name, misspelled) in misspellings(&whole[event]) {
            add(FaultKind::Misspelled(name), &|stream| {
                stream[event].clone_from(&misspelled);
            });
        }
        if event + 1 < whole.len() {
            add(FaultKind::Swapped, &|stream| stream.swap(event, event + 1));
        }
    }
    faults
}

/// Returns the names of an event's members, and the event with each of them misspelled.
fn misspellings(event: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in event.match_indices("\":") {
        let before = event.get(..at).expect("a character's boundary");
        let start = before.rfind('"').expect("the name's beginning") + 1;
        // A name within a text is escaped.
        if before.ends_with('\\') || start == at {
            continue;
        }
        let mut misspelled = event.to_owned();
        misspelled.replace_range(start..=start, "~");
        found.push((event.get(start..at).expect("a name").to_owned(), misspelled));
    }
    found
}

//! Recorded answers of models, whole and damaged: no call runs with other arguments, and no text is shorter without an error.
//!
//! The folder `recorded` has the sample of the gate. `just faults-streams` adds the recordings of other projects' tests, and
//! takes every event instead of a sample.

mod faults;
mod outcome;
mod recordings;

use faults::{Fault, Shown};
use outcome::Outcome;
use recordings::Recording;
use std::collections::BTreeMap;
use tool_adapters::Provider;

// M1
#[test]
fn recorded_answers_are_read_whole() {
    let recordings = Recording::all();
    assert!(recordings.len() >= 16, "{} recordings", recordings.len());
    let mut problems = Vec::new();
    for recording in &recordings {
        let outcome = Outcome::read(recording.provider, &recording.body);
        if !outcome.is_answer {
            problems.push(format!("{}: {}", recording.name, outcome.errors.join("; ")));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        recordings.len(),
        problems.join("\n")
    );
}

// M1
#[test]
fn a_recorded_answer_is_read_the_same_in_pieces() {
    for recording in Recording::all() {
        let whole = Outcome::read(recording.provider, &recording.body);
        for size in [1, 7, 64] {
            let pieces = Outcome::read_in(recording.provider, recording.body.chunks(size));
            assert_eq!(pieces, whole, "{} in pieces of {size}", recording.name);
        }
    }
}

/// The number of faults, by protocol and kind.
#[derive(Default)]
struct Tally {
    made: usize,
    /// Those that leave no trace in the protocol.
    untraceable: usize,
    violations: Vec<String>,
}

// M1, M3
#[test]
fn no_fault_runs_a_call_or_shortens_a_text() {
    let mut tallies = BTreeMap::<(Provider, &str), Tally>::new();
    for recording in Recording::all() {
        let whole = Outcome::read(recording.provider, &recording.body);
        if !whole.is_answer {
            continue;
        }
        for damaged in faults::all(&recording, recordings::every_event()) {
            let tally = tallies
                .entry((recording.provider, damaged.fault.name()))
                .or_default();
            tally.made += 1;
            let outcome = Outcome::read(recording.provider, &damaged.body);
            let Some(violation) = outcome.violation(&whole) else {
                continue;
            };
            match damaged.shown {
                Shown::Never => tally.untraceable += 1,
                Shown::Always => {
                    tally.violations.push(format!(
                        "{}, event {}: {violation}",
                        recording.name, damaged.event
                    ));
                }
            }
        }
    }
    let mut violations = Vec::new();
    for ((provider, fault), tally) in &tallies {
        println!(
            "{provider} {fault}: {} faults, {} without a trace in the protocol, {} violations",
            tally.made,
            tally.untraceable,
            tally.violations.len()
        );
        violations.extend(
            tally
                .violations
                .iter()
                .map(|violation| format!("{provider} {fault}: {violation}")),
        );
    }
    assert!(
        tallies
            .keys()
            .any(|(_, fault)| *fault == Fault::Garbled.name())
    );
    let first = violations
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        violations.is_empty(),
        "{} violations:\n{first}",
        violations.len()
    );
}

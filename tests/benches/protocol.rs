//! The cost of reading a call from a provider's answer, beside its dispatch: instructions and time.

mod works;

use std::cell::RefCell;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tool_adapters::providers::{Event, Protocol};
use tool_adapters::{Provider, protocol};
use tool_core::{RunContext, ToolCall, ToolContext};
use works::answers::{self, Answers};
use works::callgrind::{self, shown};
use works::many;

/// Most that reading a call may add to dispatch, in nanoseconds.
const BAR: f64 = 1_000.0;
/// Most instructions that an event of a stream may take, with the dispatch of the call divided by the events.
const EVENT_BAR: f64 = 3_000.0;
/// Calls a sample, and samples; the median counts.
const BATCH: u32 = 200;
const SAMPLES: usize = 101;

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

/// Reads the one call of an answer, which some protocols have at the end only.
fn read(protocol: &mut dyn Protocol, answer: &str) -> Option<ToolCall> {
    let mut events = protocol.push(answer.as_bytes());
    events.extend(protocol.finish());
    events.into_iter().find_map(|event| match event {
        Event::Call(call) => Some(call),
        _ => None,
    })
}

fn dispatch(tools: &ToolContext, ctx: &RunContext) {
    drop(black_box(works::call(
        tools,
        black_box("create_event"),
        black_box(works::inputs::EVENT),
        ctx,
    )));
}

/// Each work in the order in which `report` reads the counts. A protocol serves a conversation, so each round has a new
/// one, made before it: the same answer twice in one would have the same id twice.
fn run_all() {
    let (tools, ctx) = (many::calendar(), RunContext::detached());
    callgrind::run(&mut || dispatch(&tools, &ctx));
    for Answers {
        provider,
        whole,
        stream,
        ..
    } in answers::all()
    {
        for answer in [whole, stream] {
            let fresh = RefCell::new(protocol(provider));
            let next = &mut || *fresh.borrow_mut() = protocol(provider);
            callgrind::run_between(next, &mut || {
                drop(black_box(read(
                    &mut **fresh.borrow_mut(),
                    black_box(&answer),
                )));
            });
        }
    }
}

/// The median time of one round of a work, in nanoseconds.
fn median(mut work: impl FnMut(&mut dyn Protocol)) -> f64 {
    let sample = |_| {
        let mut fresh = (0..BATCH)
            .map(|_| protocol(Provider::OpenAiChat))
            .collect::<Vec<_>>();
        let began = Instant::now();
        for protocol in &mut fresh {
            work(&mut **protocol);
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
    };
    let mut samples = (0..SAMPLES).map(sample).collect::<Vec<_>>();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

/// Prints the tables; fails where a bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let answers = answers::all();
    let [dispatched, read @ ..] = counts else {
        return ExitCode::FAILURE;
    };
    let (read, rest) = read.as_chunks::<2>();
    if read.len() != answers.len() || !rest.is_empty() {
        eprintln!("NO INSTRUCTION COUNTS: {} works were counted", counts.len());
        return ExitCode::FAILURE;
    }
    let added = report_time(&answers[0]);
    println!(
        "\nReading a call of `create_event`, with its dispatch ({dispatched:.0} instructions)\n"
    );
    println!(
        "| provider | whole, bytes | instructions | stream, bytes | events | instructions | an event | bar |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut most = 0_f64;
    for (
        Answers {
            name,
            whole,
            stream,
            ..
        },
        [of_whole, of_stream],
    ) in answers.iter().zip(read)
    {
        let events = u32::try_from(stream.matches("data: ").count()).unwrap_or(u32::MAX);
        let each = (of_stream + dispatched) / f64::from(events);
        most = most.max(each);
        println!(
            "| {name} | {} | {:.0} | {} | {events} | {:.0} | {each:.0} | {} |",
            whole.len(),
            of_whole + dispatched,
            stream.len(),
            of_stream + dispatched,
            shown(Some(EVENT_BAR), each)
        );
    }
    if added <= BAR && most <= EVENT_BAR {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints the times of Chat Completions, and returns what a whole answer adds to dispatch, in nanoseconds.
fn report_time(answers: &Answers) -> f64 {
    let (tools, ctx) = (many::calendar(), RunContext::detached());
    let alone = median(|_| dispatch(&tools, &ctx));
    let [whole, stream] = [&answers.whole, &answers.stream].map(|answer| {
        median(|protocol| {
            let call = read(protocol, black_box(answer));
            let Some(call) = call.filter(|call| call.arguments() == works::inputs::EVENT) else {
                panic!("the answer holds the call");
            };
            drop(black_box(works::call(
                &tools,
                call.name(),
                call.arguments(),
                &ctx,
            )));
        })
    });
    println!(
        "dispatch alone: {alone:.0} ns; with a whole answer of {}: {whole:.0} ns; with a stream: {stream:.0} ns",
        answers.name
    );
    println!(
        "a whole answer adds {:.0} ns, bar {}",
        whole - alone,
        shown(Some(BAR), whole - alone)
    );
    whole - alone
}

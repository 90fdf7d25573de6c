//! The cost of reading a call from a provider's answer, beside its dispatch: instructions and time.

mod works;

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;
use tool_adapters::providers::{Event, Protocol};
use tool_adapters::{Provider, protocol};
use tool_core::{RunContext, ToolCall, ToolContext};
use works::callgrind;
use works::many;

/// Most that reading a call may add to dispatch, in nanoseconds.
const BAR: f64 = 1_000.0;
/// Calls a sample, and samples; the median counts.
const BATCH: u32 = 200;
const SAMPLES: usize = 101;

fn main() -> ExitCode {
    callgrind::main(run_all, report)
}

/// A whole answer of Chat Completions, as OpenAI sends it, with one call of `create_event`.
fn answer() -> String {
    let arguments = serde_json::to_string(works::inputs::EVENT).unwrap_or_default();
    format!(
        r#"{{"id":"chatcmpl-Cw1","object":"chat.completion","created":1763632800,"model":"gpt-5-mini","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_9pXWjnwzQeRbFA1zD2xmKkqL","type":"function","function":{{"name":"create_event","arguments":{arguments}}}}}],"refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":412,"completion_tokens":71,"total_tokens":483,"prompt_tokens_details":{{"cached_tokens":256,"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0}}}},"service_tier":"default"}}"#
    )
}

/// The same as a stream, its arguments in pieces.
fn stream() -> String {
    let mut stream = String::new();
    let mut chunk = |delta: &str, rest: &str| {
        let _ = write!(
            stream,
            "data: {{\"id\":\"chatcmpl-Cw1\",\"object\":\"chat.completion.chunk\",\"created\":1763632800,\"model\":\"gpt-5-mini\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{rest}}}]}}\n\n"
        );
    };
    chunk(
        r#"{"tool_calls":[{"index":0,"id":"call_9pXWjnwzQeRbFA1zD2xmKkqL","type":"function","function":{"name":"create_event","arguments":""}}]}"#,
        "null",
    );
    for piece in works::inputs::EVENT.as_bytes().chunks(8) {
        let piece = serde_json::to_string(&String::from_utf8_lossy(piece)).unwrap_or_default();
        chunk(&format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{piece}}}}}]}}"#), "null");
    }
    chunk("{}", r#""tool_calls""#);
    stream + "data: [DONE]\n\n"
}

/// Reads the one call of an answer.
fn read(protocol: &mut dyn Protocol, answer: &str) -> Option<ToolCall> {
    protocol.push(answer.as_bytes()).into_iter().find_map(|event| match event {
        Event::Call(call) => Some(call),
        _ => None,
    })
}

fn dispatch(tools: &ToolContext, ctx: &RunContext) {
    drop(black_box(works::call(tools, black_box("create_event"), black_box(works::inputs::EVENT), ctx)));
}

/// Each work in the order in which `report` reads the counts. A protocol serves a conversation, so each round has a new
/// one, made before it: the same answer twice in one would have the same id twice.
fn run_all() {
    let (tools, ctx) = (many::calendar(), RunContext::detached());
    callgrind::run(&mut || dispatch(&tools, &ctx));
    for answer in [answer(), stream()] {
        let fresh = std::cell::RefCell::new(protocol(Provider::OpenAiChat));
        let next = &mut || *fresh.borrow_mut() = protocol(Provider::OpenAiChat);
        callgrind::run_between(next, &mut || drop(black_box(read(&mut **fresh.borrow_mut(), black_box(&answer)))));
    }
}

/// The median time of one round of a work, in nanoseconds.
fn median(mut work: impl FnMut(&mut dyn Protocol)) -> f64 {
    let sample = |_| {
        let mut fresh = (0..BATCH).map(|_| protocol(Provider::OpenAiChat)).collect::<Vec<_>>();
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

/// Prints the table; fails where the bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let &[dispatched, whole, streamed] = counts else {
        eprintln!("NO INSTRUCTION COUNTS: {} of 3 works were counted", counts.len());
        return ExitCode::FAILURE;
    };
    let (tools, ctx) = (many::calendar(), RunContext::detached());
    let alone = median(|_| dispatch(&tools, &ctx));
    let both = |answer: &str| {
        median(|protocol| {
            let call = read(protocol, black_box(answer));
            let Some(call) = call.filter(|call| call.arguments() == works::inputs::EVENT) else {
                panic!("the answer holds the call");
            };
            drop(black_box(works::call(&tools, call.name(), call.arguments(), &ctx)));
        })
    };
    let (answer, stream) = (answer(), stream());
    let (with_answer, with_stream) = (both(&answer), both(&stream));
    let added = with_answer - alone;
    let missed = added > BAR;
    println!("Reading a call of `create_event` off an answer of Chat Completions\n");
    println!("| work | bytes | instructions | ns | more than dispatch, ns | bar, ns |\n|---|--:|--:|--:|--:|--:|");
    println!("| dispatch alone | | {dispatched:.0} | {alone:.0} | | |");
    println!(
        "| a whole answer, and dispatch | {} | {:.0} | {with_answer:.0} | {added:.0} | {BAR:.0}{} |",
        answer.len(),
        whole + dispatched,
        if missed { " MISSED" } else { "" }
    );
    println!(
        "| a stream of {} events, and dispatch | {} | {:.0} | {with_stream:.0} | {:.0} | - |",
        stream.matches("data: ").count(),
        stream.len(),
        streamed + dispatched,
        with_stream - alone
    );
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

//! The cases in which frameworks differ.

use crate::tools::{HANG, RUNS};
use crate::{Call, Contestant, Player, Tools};
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A call that is made, and its group in the table.
struct Case {
    check: &'static str,
    case: &'static str,
    tool: &'static str,
    arguments: &'static str,
}

const fn case(
    check: &'static str,
    case: &'static str,
    tool: &'static str,
    arguments: &'static str,
) -> Case {
    Case {
        check,
        case,
        tool,
        arguments,
    }
}

const CASES: [Case; 13] = [
    case("control", "sound", "rate", r#"{"stars":5}"#),
    case("untagged", "number", "locate", r#"{"place":7}"#),
    case("untagged", "text", "locate", r#"{"place":"Kiel"}"#),
    case(
        "untagged",
        "object",
        "locate",
        r#"{"place":{"lat":54.3,"lon":10.1}}"#,
    ),
    case(
        "nested",
        "sound",
        "ship",
        r#"{"parcel":{"weight":2,"to":{"street":"Hafen 1","town":"Kiel"}}}"#,
    ),
    case(
        "nested",
        "no town",
        "ship",
        r#"{"parcel":{"weight":2,"to":{"street":"Hafen 1"}}}"#,
    ),
    case("range", "200 of 100", "rate", r#"{"stars":200}"#),
    case("unknown", "colour", "rate", r#"{"stars":5,"colour":"red"}"#),
    case(
        "several",
        "four problems",
        "book",
        r#"{"guest":7,"nights":"many","rooms":-1}"#,
    ),
    case("spelling", "number as text", "rate", r#"{"stars":"5"}"#),
    case("hang", "a day", "hang", "{}"),
    case("panic", "in the tool", "break_down", "{}"),
    case("large", "10 MB", "read_log", "{}"),
];

/// The bytes of a result that are printed.
const SHOWN: usize = 1_500;

/// Prints a line of JSON for each case.
pub fn check<C: Contestant>() {
    std::panic::set_hook(Box::new(|_| {}));
    for case in &CASES {
        println!("{}", run::<C>(case));
    }
}

fn run<C: Contestant>(case: &Case) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let call = Call::new(0, case.tool, case.arguments.to_owned());
    let player = Arc::new(Player::new(vec![call]).recording());
    let before = RUNS.load(Relaxed);
    let began = runtime.block_on(async { tokio::time::Instant::now() });
    let (end, took) = runtime.block_on(async {
        let contestant = C::open(player.clone(), Tools::Checked).await;
        let conversation = AssertUnwindSafe(contestant.converse()).catch_unwind();
        let end = match tokio::time::timeout(HANG * 2, conversation).await {
            Ok(Ok(Ok(answer))) => json!({"answer": answer}),
            Ok(Ok(Err(error))) => json!({"error": error}),
            Ok(Err(_)) => json!({"panic": "the caller of the loop got the panic"}),
            Err(_) => json!({"hangs": "for two days"}),
        };
        (end, began.elapsed())
    });
    let sent = player.last_request();
    let told = sent.results.join("\n");
    let schema = sent.tools.iter().find(|(name, _)| name == case.tool);
    json!({
        "peer": C::NAME,
        "check": case.check,
        "case": case.case,
        "arguments": serde_json::from_str::<Value>(case.arguments).ok(),
        "schema": schema.map(|(_, schema)| schema),
        "runs": RUNS.load(Relaxed) - before,
        "requests": player.requests(),
        "told": told.chars().take(SHOWN).collect::<String>(),
        "told_bytes": told.len(),
        "seconds": took.as_secs(),
        "end": end,
    })
}

//! The `cost_tracking` example, run with cargo.

mod shared;

use serde_json::Value;
use shared::run;

fn printed(arguments: &[&str]) -> String {
    let output = run("cost_tracking", arguments, &[], "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn span_tree_is_printed_with_costs() {
    let text = printed(&[]);
    assert!(
        text.contains("\nagent:planner > llm, tool:A > llm, tool:B > http\n"),
        "{text}"
    );
    assert!(
        text.contains("agent:planner") && text.contains('$'),
        "{text}"
    );
}

#[test]
fn child_process_continues_the_trace() {
    let text = printed(&[]);
    let (_, elsewhere) = text.split_once("In the other process:").unwrap();
    assert!(elsewhere.contains("agent:warehouse"), "{text}");
}

// S7
#[test]
fn total_cost_is_the_sum_of_its_parts() {
    let report: Value = serde_json::from_str(&printed(&["--json"])).unwrap();
    let pico = |sum: &Value| sum["cost"]["picodollars"].as_u64().unwrap();
    let totals = &report["totals"];
    let models = totals["models"]
        .as_object()
        .unwrap()
        .values()
        .map(pico)
        .sum::<u64>();
    assert_eq!(pico(&totals["total"]), models);
    assert_eq!(pico(&totals["customers"]["acme"]), models);
    // 306 input, 1,536 cached and 215 output tokens at 0.25, 0.025 and 2.00 dollars a million.
    assert_eq!(
        pico(&totals["models"]["gpt-5-mini-2025-08-07"]),
        306 * 250_000 + 1_536 * 25_000 + 215 * 2_000_000
    );
}

#[test]
fn arguments_are_refused_with_the_usage() {
    let output = run("cost_tracking", &["now"], &[], "");
    assert_eq!(output.status.code(), Some(2));
}

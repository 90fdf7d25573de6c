//! The interop examples: the same conversation through three other crates.

#[path = "shared/cargo.rs"]
mod cargo;

use cargo::cargo;

fn printed(example: &str) -> String {
    let output = cargo()
        .args(["run", "--quiet", "--all-features", "--example", example])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

const ANSWER: &str = "I was told: It left the warehouse this morning. / there is no order 8";

// L18
#[test]
fn async_openai_carries_calls_and_results() {
    assert_eq!(printed("interop_async_openai").trim(), ANSWER);
}

// L18
#[test]
fn genai_carries_calls_and_results() {
    assert_eq!(printed("interop_genai").trim(), ANSWER);
}

// L18
#[test]
fn rig_agent_calls_through_the_session() {
    let printed = printed("interop_rig");
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some(ANSWER));
    assert_eq!(lines.collect::<Vec<_>>(), ["2 calls, 1 failed"]);
}

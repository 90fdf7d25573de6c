//! The quickstart, run with cargo.

mod shared;

use shared::run;

#[test]
fn the_quickstart_prints_three_answers() {
    let output = run("quickstart", &[], &[], "");
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        answers.len() == 3 && answers.iter().all(|answer| answer["ok"] == true),
        "{output:?}"
    );
    for data in [
        "[\"ada@x.org\",\"+493012345\"]",
        "\"20 November 2026, 08:30\"",
        "\"data\":3",
    ] {
        assert!(text.contains(data), "{text}");
    }
}

//! The example with trials, run with cargo.

mod shared;

use shared::run;

// M31, M33
#[test]
fn trials_run_against_a_recording_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("reports/junit.xml");
    let settings = [
        ("RECORD_MODELS", ""),
        ("OPENAI_API_KEY", ""),
        ("OPENAI_BASE_URL", ""),
    ];
    let output = run("trials", &[report.to_str().unwrap()], &settings, "");
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    let rows = [
        ["books a room", "1 of 1", "100 %", "ok"],
        ["finds rooms", "2 of 3", "60 %", "ok"],
        ["asks for the day", "1 of 1", "100 %", "ok"],
    ];
    for cells in rows {
        let has_all = |line: &str| cells.iter().all(|cell| line.contains(cell));
        assert!(table.lines().any(has_all), "{cells:?}\n{table}");
    }
    assert!(
        table.contains("run 2: `find_rooms` must be called with {\"day\":\"monday\"}"),
        "{table}"
    );
    let report = std::fs::read_to_string(report).unwrap();
    assert!(
        report.contains(r#"tests="3" failures="0" errors="0""#),
        "{report}"
    );
}

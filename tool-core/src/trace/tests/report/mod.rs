//! Reports. Those of fixed spans are compared with `golden/`, which `UPDATE=1 cargo test` writes again.

pub(crate) mod fixture;
pub(crate) mod page;
pub(crate) mod places;
pub(crate) mod shapes;

use crate::trace::report::tree::Report;
use crate::trace::tests::report::fixture::{hostile, planner};
use std::path::Path;

/// Compares a text with its golden file.
fn golden(name: &str, text: &str) {
    // `file!()` is relative to the workspace.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(Path::new(file!()));
    let folder = here
        .parent()
        .and_then(Path::parent)
        .expect("a file lies in a folder")
        .join("golden");
    let path = folder.join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&path, text).expect("golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(golden, text, "{name} differs from {}", path.display());
}

fn pretty(report: &Report) -> String {
    format!("{:#}\n", serde_json::to_value(report).expect("JSON"))
}

// S2, S6, S7
#[test]
fn the_outline_matches_the_documentation() {
    assert_eq!(
        planner().outline(),
        "agent:planner > llm, tool:A > llm, tool:B > http; http"
    );
}

#[test]
fn terminal_reports_match_their_golden_files() {
    golden("planner.txt", &planner().to_string());
    golden("planner.ascii.txt", &format!("{:#}", planner()));
    golden("hostile.txt", &hostile().to_string());
}

#[test]
fn json_reports_match_their_golden_files() {
    golden("planner.json", &pretty(&planner()));
    golden("hostile.json", &pretty(&hostile()));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&planner().to_json()).ok(),
        serde_json::to_value(planner()).ok()
    );
}

#[test]
fn html_reports_match_their_golden_files() {
    golden("planner.html", &planner().to_html());
    golden("hostile.html", &hostile().to_html());
}

#[test]
fn an_empty_report_says_so() {
    let report = Report::default();
    assert!(report.to_string().starts_with("no spans\n"), "{report}");
    assert!(report.to_html().contains("No spans."));
    assert_eq!(report.outline(), "");
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(
        (&json["began"], &json["spans"]),
        (&serde_json::Value::Null, &serde_json::json!([]))
    );
}

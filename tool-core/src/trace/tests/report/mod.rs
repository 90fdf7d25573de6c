//! Reports of fixed spans, whole, beside this folder in `golden/`: `UPDATE=1 cargo test` writes them anew. And reports of
//! trees that are deep, wide, or in part not there.

pub(crate) mod fixture;
pub(crate) mod page;
pub(crate) mod places;
pub(crate) mod shapes;

use crate::trace::report::Report;
use crate::trace::tests::report::fixture::{hostile, planner};
use std::path::Path;

/// Holds a text to its golden file.
fn golden(name: &str, text: &str) {
    // `file!()` is relative to the workspace.
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(Path::new(file!()));
    let folder = here.parent().and_then(Path::parent).expect("a file lies in a folder").join("golden");
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
fn the_tree_of_the_documents_is_as_they_write_it() {
    assert_eq!(planner().outline(), "agent:planner > llm, tool:A > llm, tool:B > http; http");
}

#[test]
fn a_report_for_the_terminal_has_the_tree_its_cost_and_the_totals() {
    golden("planner.txt", &planner().to_string());
    golden("planner.ascii.txt", &format!("{:#}", planner()));
    golden("hostile.txt", &hostile().to_string());
}

#[test]
fn a_report_as_json_has_all_of_it() {
    golden("planner.json", &pretty(&planner()));
    golden("hostile.json", &pretty(&hostile()));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&planner().to_json()).ok(),
        serde_json::to_value(planner()).ok()
    );
}

#[test]
fn a_report_as_a_page_has_all_of_it() {
    golden("planner.html", &planner().to_html());
    golden("hostile.html", &hostile().to_html());
}

#[test]
fn a_report_of_nothing_says_so() {
    let report = Report::default();
    assert!(report.to_string().starts_with("no spans\n"), "{report}");
    assert!(report.to_html().contains("No spans."));
    assert_eq!(report.outline(), "");
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!((&json["began"], &json["spans"]), (&serde_json::Value::Null, &serde_json::json!([])));
}

//! Trees that are deep and wide, and their outlines.

use crate::trace::cost::Cost;
use crate::trace::record::SpanStatus;
use crate::trace::report::tree::Report;
use crate::trace::report::tree::SpanNode;
use crate::trace::span::OpenSpan;
use crate::trace::tests::report::fixture::{Fixture, open, paid};
use std::sync::Arc;

/// Makes a report from lines of labels that are indented by their depth.
fn of(tree: &str) -> Report {
    let mut fixture = Fixture::new();
    let mut open_now: Vec<Arc<OpenSpan>> = Vec::new();
    for (number, line) in tree.split('\n').enumerate() {
        let depth = line.len() - line.trim_start().len();
        while open_now.len() > depth {
            let scope = open_now.pop().expect("one that is open");
            fixture.end(&scope, 1, SpanStatus::Ok, vec![paid("unit", Cost::pico(1))]);
        }
        let from = number as u64;
        open_now.push(open(
            &fixture,
            open_now.last(),
            from + 1,
            line.trim_start(),
            from,
        ));
    }
    while let Some(scope) = open_now.pop() {
        fixture.end(&scope, 1, SpanStatus::Ok, vec![paid("unit", Cost::pico(1))]);
    }
    fixture.report()
}

/// Makes a report of nested spans.
fn chain(depth: usize) -> Report {
    let mut fixture = Fixture::new();
    let mut scopes: Vec<Arc<OpenSpan>> = Vec::new();
    for at in 0..depth as u64 {
        scopes.push(open(&fixture, scopes.last(), at + 1, "section:deep", at));
    }
    while let Some(scope) = scopes.pop() {
        fixture.end(&scope, 1, SpanStatus::Ok, vec![paid("unit", Cost::pico(1))]);
    }
    fixture.report()
}

/// Makes a report of an agent with many tool calls.
fn fan(tools: u64) -> Report {
    let mut fixture = Fixture::new();
    let agent = open(&fixture, None, 1, "agent:wide", 0);
    for at in 0..tools {
        let tool = open(&fixture, Some(&agent), at + 2, "tool:one", at);
        fixture.end(&tool, 1, SpanStatus::Ok, Vec::new());
    }
    fixture.end(&agent, tools + 1, SpanStatus::Ok, Vec::new());
    fixture.report()
}

#[test]
fn an_outline_has_parentheses_around_several_inner_spans() {
    let lines = [
        ("agent:a", "agent:a"),
        ("agent:a\n llm:m\n  http:GET x", "agent:a > llm > http"),
        (
            "agent:a\n tool:b\n  llm:m\n  http:x\n tool:c",
            "agent:a > tool:b > (llm, http), tool:c",
        ),
        (
            "agent:a\n tool:b\n  section:c\n   llm:m\n   llm:m",
            "agent:a > tool:b > section:c > (llm, llm)",
        ),
        (
            "agent:a\n tool:b\n  section:c\n   llm:m\n    http:x\n   llm:m\n  tool:d\n tool:e",
            "agent:a > tool:b > (section:c > (llm > http, llm), tool:d), tool:e",
        ),
        (
            "agent:a\n llm:m\nagent:b\nsection:c\n tool:d",
            "agent:a > llm; agent:b; section:c > tool:d",
        ),
        ("agent:a b, c > d", "agent:\"a b, c > d\""),
    ];
    for (tree, line) in lines {
        assert_eq!(of(tree).outline(), line, "{tree}");
    }
}

// S7
#[test]
fn each_node_includes_the_cost_inside_it_once() {
    let report = of("agent:a\n tool:b\n  llm:m\n  http:x\n tool:c\nagent:d");
    let figures = report.nodes().map(|node| {
        (
            node.label(),
            node.total().cost.picodollars(),
            node.own().uses,
        )
    });
    let figures = figures
        .map(|(label, total, own)| format!("{label} {total} {own}"))
        .collect::<Vec<_>>();
    assert_eq!(
        figures,
        [
            "agent:a 5 1",
            "tool:b 3 1",
            "llm:m 1 1",
            "http:x 1 1",
            "tool:c 1 1",
            "agent:d 1 1"
        ]
    );
    let roots = report.roots().map(|root| root.total().cost).sum::<Cost>();
    assert_eq!(roots, report.totals().total.cost);
}

#[test]
fn children_and_roots_are_in_order_of_start() {
    let report = of("agent:a\n tool:b\n  llm:m\n tool:c\nagent:d");
    let agent = report.roots().next().expect("a root");
    let inside = report
        .children(agent.span_id())
        .map(SpanNode::label)
        .collect::<Vec<_>>();
    assert_eq!(inside, ["tool:b", "tool:c"]);
    assert_eq!(
        report.roots().map(SpanNode::label).collect::<Vec<_>>(),
        ["agent:a", "agent:d"]
    );
    let tool = agent.children().next().expect("a tool");
    assert_eq!(
        tool.parent().map(SpanNode::label).as_deref(),
        Some("agent:a")
    );
    assert_eq!(
        tool.children()
            .map(|node| (node.label(), node.depth()))
            .collect::<Vec<_>>(),
        [("llm:m".into(), 2)]
    );
}

// S12
#[test]
fn a_tree_of_depth_10000_needs_little_stack() {
    let look = || {
        let report = chain(10_000);
        assert_eq!(
            report
                .roots()
                .map(|root| root.total().uses)
                .collect::<Vec<_>>(),
            [10_000]
        );
        assert_eq!(report.nodes().map(SpanNode::depth).max(), Some(9_999));
        assert_eq!(report.outline().matches(" > ").count(), 9_999);
        // One short line for each span, and the totals.
        let text = report.to_string();
        assert!(
            text.lines().count() > 10_000 && text.len() < 2_000_000,
            "{}",
            text.len()
        );
        let json: serde_json::Value =
            serde_json::from_str(&report.to_json()).expect("no parser minds");
        assert_eq!(json["spans"].as_array().map(Vec::len), Some(10_000));
        assert!(report.to_html().len() < 10_000_000);
    };
    let small = std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(look);
    small.expect("a thread").join().expect("no overflow");
}

#[test]
fn the_page_shows_1000_spans_of_each_list() {
    let report = fan(9_999);
    let page = report.to_html();
    assert!(page.contains("1,001 of 10,000 spans are shown"));
    assert!(page.contains("8,999 spans inside not shown"));
    assert_eq!(page.matches("<li data-span=").count(), 1_001);
    assert_eq!(
        report
            .to_string()
            .lines()
            .filter(|line| line.contains("tool:one"))
            .count(),
        9_999
    );
}

#[test]
fn the_page_shows_10000_spans_and_counts_the_others() {
    let mut fixture = Fixture::new();
    for at in 0..10_100 {
        // 100 agents, with 100 spans inside each.
        let label = if at % 101 == 0 { "agent:a" } else { "tool:one" };
        let around =
            (at % 101 > 0).then(|| open(&fixture, None, at / 101 * 101 + 1, "agent:a", at));
        let span = open(&fixture, around.as_ref(), at + 1, label, at);
        fixture.end(&span, 1, SpanStatus::Ok, Vec::new());
    }
    let page = fixture.report().to_html();
    assert!(page.contains("10,000 of 10,100 spans are shown"));
    assert_eq!(page.matches("<li data-span=").count(), 10_000);
    assert!(page.len() < 10_000_000, "{}", page.len());
}

//! `wrap_all!`: several callables, in the container that holds them.

use crate::support::{block_on, paths};
use std::collections::{BTreeMap, HashMap};
use tool_core::tool::IntoTool;
use tool_core::trace::Collector;
use tool_core::{FunctionTool, Tool, tool, wrap_all, wrap_tool};

fn one(a: u8) -> u8 {
    a
}

async fn later(text: &str, n: usize) -> String {
    tokio::task::yield_now().await;
    text.repeat(n)
}

/// Look something up.
#[tool(name = "listed_search")]
fn look_up(text: String) -> String {
    text
}

fn function_tool() -> FunctionTool {
    match look_up.into_tool() {
        Ok(Tool::Function(tool)) => tool,
        _ => panic!("a function"),
    }
}

fn names(collector: &Collector) -> Vec<String> {
    collector
        .report()
        .spans()
        .iter()
        .map(|span| span.name().to_owned())
        .collect()
}

// S4
#[test]
fn a_container_keeps_its_shape() {
    let collector = Collector::new();
    collector.run_sync(|| {
        let alone = wrap_all!(one);
        assert_eq!(alone(1), 1);

        let list: Vec<_> = wrap_all!(
            vec![one, one as fn(u8) -> u8]
                .into_iter()
                .collect::<Vec<_>>()
        );
        assert_eq!((list.len(), list[1](2)), (2, 2));

        let array: [_; 2] = wrap_all!([|n: u8| n + 1, |n: u8| n + 2] as [fn(u8) -> u8; 2]);
        assert_eq!((array[0](1), array[1](1)), (2, 3));

        let map: HashMap<&str, _> =
            wrap_all!(HashMap::from([("double", (|n: u8| n * 2) as fn(u8) -> u8)]));
        assert_eq!(map["double"](4), 8);

        let sorted: BTreeMap<String, _> =
            wrap_all!(BTreeMap::from([("triple".to_owned(), |n: u8| n * 3)]));
        assert_eq!(sorted["triple"](4), 12);
    });
    assert_eq!(
        names(&collector),
        [
            "one",
            "fn(u8) -> u8",
            "fn(u8) -> u8",
            "fn(u8) -> u8",
            "double",
            "triple"
        ]
    );
}

// S4
#[test]
fn wrapped_array_keeps_the_names() {
    fn other(n: u8) -> u8 {
        n
    }
    let array = wrap_all!([one, other]);
    let list = wrap_all!(vec![other, self::one,]);
    let tools = wrap_all!([look_up, listed_too]);
    let names = array
        .iter()
        .chain(&list)
        .map(|wrapped| wrapped.name())
        .collect::<Vec<_>>();
    assert_eq!(names, ["one", "other", "other", "one"]);

    let collector = Collector::new();
    collector.run_sync(|| {
        tools
            .iter()
            .for_each(|tool| assert_eq!(tool("x".into()), "x"))
    });
    let found = paths(&collector)
        .into_iter()
        .map(|(path, _)| path)
        .collect::<Vec<_>>();
    assert_eq!(found, ["tool:listed_search", "tool:listed_too"]);
}

/// Look something up, too.
#[tool]
fn listed_too(text: String) -> String {
    text
}

// S4
#[test]
fn mixed_callables_are_wrapped_as_a_tuple() {
    let collector = Collector::new();
    let tool = function_tool();
    let wrapped = wrap_tool!(one, "first");
    let (function, waits, closure, kept, again, list) =
        wrap_all!(one, later, |n: u8| n + 1, tool.clone(), wrapped, [look_up]);
    assert!(kept.same(&tool));
    block_on(collector.run(async {
        assert_eq!((function(1), closure(1), again(1)), (1, 2, 1));
        assert_eq!(later("a", 1).await, waits("a", 1).await);
        assert_eq!(list[0]("x".into()), "x");
    }));
    assert_eq!(
        names(&collector),
        [
            "one",
            "mixed_callables_are_wrapped_as_a_tuple::closure",
            "first",
            "later",
            "listed_search"
        ]
    );
}

// S4
#[test]
fn containers_of_tools_and_wrappers_are_returned() {
    let tools: Vec<FunctionTool> = wrap_all!(vec![function_tool()].into_iter().collect::<Vec<_>>());
    assert_eq!(tools[0].name(), "listed_search");
    let wrapped = wrap_all!(BTreeMap::from([("first", one)]));
    let again = wrap_all!(wrapped);
    assert_eq!(again["first"].name(), "first");
}

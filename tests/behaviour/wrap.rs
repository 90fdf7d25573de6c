//! `wrap_tool!`: spans for callables that are not tools.

use crate::support::{block_on, paths};
use serde_json::json;
use tool_core::tool::IntoTool;
use tool_core::trace::{self, Collector, SpanStatus};
use tool_core::{FunctionTool, RunContext, Tool, ToolContext, tool, wrap_tool};

const OK: SpanStatus = SpanStatus::Ok;

#[derive(Debug, PartialEq)]
struct Refused;

fn none() -> u8 {
    0
}

fn one(a: u8) -> u8 {
    a
}

fn two(a: u8, b: &str) -> usize {
    usize::from(a) + b.len()
}

fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8) -> u8 {
    a + b + c + d + e + f + g + h
}

fn may_fail(fails: bool) -> Result<u8, Refused> {
    if fails { Err(Refused) } else { Ok(1) }
}

async fn later(text: &str, n: usize) -> String {
    tokio::task::yield_now().await;
    text.repeat(n)
}

async fn later_may_fail(fails: bool) -> Result<u8, Refused> {
    trace::section("work", async {}).await;
    may_fail(fails)
}

fn by_hand(n: u8) -> impl Future<Output = Result<u8, Refused>> {
    let next = n + 1;
    async move { Ok(next - 1) }
}

fn names(collector: &Collector) -> Vec<String> {
    collector
        .report()
        .spans()
        .iter()
        .map(|span| span.name().to_owned())
        .collect()
}

// S3
#[test]
fn wrapper_is_called_like_the_original() {
    let collector = Collector::new();
    let (none, one, two, many) = (
        wrap_tool!(none),
        wrap_tool!(one),
        wrap_tool!(two),
        wrap_tool!(many),
    );
    let (later, by_hand) = (wrap_tool!(later), wrap_tool!(by_hand));
    block_on(collector.run(async {
        assert_eq!(
            (none(), one(1), two(1, "ab"), many(1, 1, 1, 1, 1, 1, 1, 1)),
            (0, 1, 3, 8)
        );
        assert_eq!(later("ab", 2).await, "abab");
        assert_eq!(by_hand(3).await, Ok(3));
    }));
    let expected =
        ["none", "one", "two", "many", "later", "by_hand"].map(|name| (format!("tool:{name}"), OK));
    assert_eq!(paths(&collector), expected);
}

// S3
#[test]
fn closures_are_wrapped_like_functions() {
    let collector = Collector::new();
    let step = 2;
    let add = wrap_tool!(move |n: u8| n + step, "add");
    let wait = wrap_tool!(async |n: u8| n + 1, "wait");
    let anonymous = wrap_tool!(|n: u8| n);
    let boxed = wrap_tool!(Box::new(|n: u8| Some(n)) as Box<dyn Fn(u8) -> Option<u8>>);
    block_on(collector.run(async {
        assert_eq!(add(1), 3);
        assert_eq!(wait(1).await, 2);
        assert_eq!(anonymous(7), 7);
        assert_eq!(boxed(7), Some(7));
    }));
    let expected = [
        "add",
        "wait",
        "closures_are_wrapped_like_functions::closure",
        "Box<dyn Fn(u8) -> Option<u8>>",
    ];
    assert_eq!(names(&collector), expected);
}

// S3
#[test]
fn nested_calls_and_tasks_are_inside_the_wrapper_span() {
    let collector = Collector::new();
    let wrapped = wrap_tool!(later_may_fail);
    block_on(collector.run(trace::agent("planner", async {
        let (one, other) = tokio::join!(wrapped(false), wrapped(false));
        assert_eq!((one, other), (Ok(1), Ok(1)));
    })));
    let path = "agent:planner/tool:later_may_fail";
    let mut found = paths(&collector)
        .into_iter()
        .map(|(path, _)| path)
        .collect::<Vec<_>>();
    found.sort();
    let inner = format!("{path}/section:work");
    assert_eq!(found, ["agent:planner", path, path, &inner, &inner]);
}

// S2
#[test]
fn wrapped_call_in_a_section_is_inside_it() {
    let collector = Collector::new();
    let wrapped = wrap_tool!(later);
    block_on(collector.run(trace::agent("planner", async {
        trace::section("part", wrapped("x", 1)).await
    })));
    assert_eq!(
        paths(&collector)[0].0,
        "agent:planner/section:part/tool:later"
    );
}

// S5
#[test]
fn an_error_is_recorded_and_returned_unchanged() {
    let collector = Collector::new();
    let (now, later) = (wrap_tool!(may_fail), wrap_tool!(later_may_fail));
    assert_eq!(collector.run_sync(|| now(true)), Err(Refused));
    assert_eq!(collector.run_sync(|| now(false)), Ok(1));
    assert_eq!(
        block_on(collector.run(async { later(true).await })),
        Err(Refused)
    );
    let report = collector.report();
    let tools = report
        .spans()
        .iter()
        .filter(|span| span.label().starts_with("tool:"));
    let kinds = tools
        .map(|span| (span.status(), span.error().map(|error| error.kind)))
        .collect::<Vec<_>>();
    let error = Some(std::any::type_name::<Refused>());
    assert_eq!(
        kinds,
        [
            (SpanStatus::Error, error),
            (OK, None),
            (SpanStatus::Error, error)
        ]
    );
}

// S3
#[test]
fn wrapping_twice_gives_the_first_wrapper_back() {
    let collector = Collector::new();
    let first = wrap_tool!(one, "first");
    let clone = first.clone();
    let again = wrap_tool!(wrap_tool!(first, "second"));
    assert_eq!(
        (again.name(), wrap_tool!(&again, "third").name()),
        ("first", "first")
    );
    assert!(std::ptr::eq(clone.original(), again.original()));
    assert_eq!(collector.run_sync(|| again(1) + clone(1)), 2);
    assert_eq!(names(&collector), ["first", "first"]);
}

// S3
#[test]
fn the_original_is_reachable_and_has_no_span() {
    let collector = Collector::new();
    let wrapped = wrap_tool!(one);
    assert_eq!(collector.run_sync(|| wrapped.original()(5)), 5);
    assert_eq!(names(&collector), Vec::<String>::new());
}

/// Look something up.
#[tool(name = "wrapped_search")]
fn look_up(text: String) -> String {
    text
}

/// Look something up later.
#[tool]
async fn look_up_later(text: String) -> String {
    look_up(text)
}

// S3
#[test]
fn wrapper_name_falls_back_to_tool_function_then_type() {
    assert_eq!(wrap_tool!(look_up, "given").name(), "given");
    assert_eq!(
        wrap_tool!(look_up, format!("given {}", 1)).name(),
        "given 1"
    );
    assert_eq!(wrap_tool!(look_up).name(), "wrapped_search");
    assert_eq!(wrap_tool!(one).name(), "one");
    assert_eq!(wrap_tool!(str::len).name(), "len");
    assert_eq!(wrap_tool!(Vec::<String>::len).name(), "len");
    assert_eq!(wrap_tool!(one as fn(u8) -> u8).name(), "fn(u8) -> u8");
}

// S2, S3
#[test]
fn wrapped_tool_has_one_span_per_call() {
    let collector = Collector::new();
    let (now, later) = (wrap_tool!(look_up), wrap_tool!(look_up_later, "later"));
    block_on(collector.run(async {
        now("x".into());
        later("x".into()).await;
    }));
    let found = paths(&collector)
        .into_iter()
        .map(|(path, _)| path)
        .collect::<Vec<_>>();
    assert_eq!(
        found,
        [
            "tool:wrapped_search",
            "tool:later/tool:wrapped_search",
            "tool:later"
        ]
    );
}

fn function_tool() -> FunctionTool {
    match look_up.into_tool() {
        Ok(Tool::Function(tool)) => tool,
        _ => panic!("a function"),
    }
}

// S3
#[test]
fn tools_have_spans_without_a_wrapper() {
    let (before, collector) = (function_tool(), Collector::new());
    let after: FunctionTool = wrap_tool!(before.clone(), "other");
    assert!(after.same(&before) && after.name() == "wrapped_search");
    let tool: Tool = wrap_tool!(Tool::Function(after));
    let tools = ToolContext::builder().with(tool).build().expect("sound");
    block_on(collector.run(tools.call(
        "wrapped_search",
        json!({"text": "x"}),
        &RunContext::detached(),
    )));
    assert_eq!(names(&collector), ["wrapped_search"]);
}

// S3
#[test]
fn arguments_may_live_shorter_than_the_wrapper() {
    let collector = Collector::new();
    let (two, later) = (wrap_tool!(two), wrap_tool!(later));
    block_on(collector.run(async {
        let text = "ab".repeat(2);
        assert_eq!(two.call((1, &text)), 5);
        for n in 0..2 {
            let text = n.to_string();
            assert_eq!(later.call((&text, 2)).await, text.repeat(2));
        }
    }));
    let text = "abc".to_owned();
    assert_eq!(collector.run_sync(|| two(1, &text)), 4);
    assert_eq!(names(&collector), ["two", "later", "later", "two"]);
}

// S3
#[test]
fn wrapper_is_send_and_sync_like_its_callable() {
    fn needs_both<T: Send + Sync + 'static>(wrapped: T) -> T {
        wrapped
    }
    let collector = Collector::new();
    let wrapped = needs_both(wrap_tool!(later_may_fail));
    let work = async move {
        tokio::spawn(trace::in_current_span(async move { wrapped(false).await })).await
    };
    assert_eq!(block_on(collector.run(work)).expect("joined"), Ok(1));
    // Passed to a function that takes a callable.
    let one = wrap_tool!(one);
    assert_eq!(collector.run_sync(|| [1, 2].map(&*one)), [1, 2]);
    assert_eq!(names(&collector), ["work", "later_may_fail", "one", "one"]);
}

// S1
#[test]
fn dropped_wrapped_future_closes_its_span_as_cancelled() {
    let collector = Collector::new();
    let endless = wrap_tool!(std::future::pending::<()>, "endless");
    block_on(collector.run(async {
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(1), endless())
                .await
                .is_err()
        );
    }));
    assert_eq!(
        paths(&collector),
        [("tool:endless".to_owned(), SpanStatus::Cancelled)]
    );
}

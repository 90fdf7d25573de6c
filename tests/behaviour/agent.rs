//! `#[agent]`: functions inside the span of an agent.

use crate::support::{block_on, paths, statuses_of_broken};
use tool_core::agent;
use tool_core::trace::{self, Collector, SpanKind, SpanStatus};

const OK: SpanStatus = SpanStatus::Ok;

fn step(name: &'static str) {
    trace::in_scope(SpanKind::Section, name, || ());
}

#[agent("researcher")]
async fn research(topic: &str) -> String {
    step("set-up");
    tokio::task::yield_now().await;
    step("work");
    topic.to_uppercase()
}

#[agent("planner")]
fn plan(mut steps: Vec<&'static str>) -> usize {
    steps.push("last");
    steps.iter().for_each(|name| step(name));
    steps.len()
}

// S1
#[test]
fn agent_span_covers_the_whole_body() {
    let collector = Collector::new();
    assert_eq!(block_on(collector.run(research("rust"))), "RUST");
    assert_eq!(collector.run_sync(|| plan(vec!["first"])), 2);
    let expected = [
        ("agent:researcher/section:set-up", OK),
        ("agent:researcher/section:work", OK),
        ("agent:researcher", OK),
        ("agent:planner/section:first", OK),
        ("agent:planner/section:last", OK),
        ("agent:planner", OK),
    ];
    assert_eq!(
        paths(&collector),
        expected.map(|(path, status)| (path.to_owned(), status))
    );
}

#[agent]
async fn unnamed() {}

const NAME: &str = "from a constant";

struct Named;

impl Named {
    const NAME: &str = "from the type";

    #[agent(Self::NAME)]
    fn of_type(&self) {}
}

#[agent(NAME)]
fn of_constant() {}

#[agent(concat!("made ", "of parts"), crate = ::tool_core)]
fn of_parts() {}

// S1
#[test]
fn agent_name_defaults_to_the_function_name() {
    let collector = Collector::new();
    block_on(collector.run(async {
        unnamed().await;
        Named.of_type();
        of_constant();
        of_parts();
    }));
    let names = collector
        .report()
        .spans()
        .iter()
        .map(|span| span.name().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(
        names,
        [
            "unnamed",
            "from the type",
            "from a constant",
            "made of parts"
        ]
    );
}

#[derive(Debug, PartialEq)]
struct Failed(u8);

#[agent("fails")]
async fn fails(code: u8) -> Result<u8, Failed> {
    if code == 0 {
        Ok(code)
    } else {
        Err(Failed(code))
    }
}

type Outcome = Result<(), Failed>;

#[agent("hidden")]
fn fails_behind_an_alias() -> Outcome {
    Err(Failed(3))?;
    Ok(())
}

/// An attribute of another crate with the same name.
struct Result2;

#[agent("not a result")]
fn no_result() -> Option<Result2> {
    None
}

// S5
#[test]
fn error_closes_the_span_and_is_returned_unchanged() {
    let collector = Collector::new();
    assert_eq!(block_on(collector.run(fails(7))), Err(Failed(7)));
    assert_eq!(block_on(collector.run(fails(0))), Ok(0));
    assert_eq!(collector.run_sync(fails_behind_an_alias), Err(Failed(3)));
    assert!(collector.run_sync(no_result).is_none());
    let statuses = paths(&collector)
        .into_iter()
        .map(|(_, status)| status)
        .collect::<Vec<_>>();
    assert_eq!(statuses, [SpanStatus::Error, OK, SpanStatus::Error, OK]);
    let report = collector.report();
    let error = report.spans()[0].error().expect("an error");
    // The text of the error may contain secrets.
    assert!(error.kind.ends_with("Failed"), "{error:?}");
    assert_eq!(error.message, None);
}

#[agent("fragile")]
async fn fragile(panics: bool) {
    if panics {
        panic!("boom");
    }
    std::future::pending::<()>().await;
}

#[agent("brittle")]
fn brittle() -> u8 {
    panic!("boom")
}

// S1
#[test]
fn panicking_or_dropped_agent_closes_its_span() {
    let statuses = statuses_of_broken(fragile(true), brittle, fragile(false));
    assert_eq!(
        statuses,
        [
            SpanStatus::Panicked,
            SpanStatus::Panicked,
            SpanStatus::Cancelled
        ]
    );
}

macro_rules! agents {
    ($($name:ident = $text:literal $body:block)*) => {
        $(#[agent($text)] async fn $name() -> u8 $body)*
    };
}

agents! {
    made = "made" { 1 }
    made_too = "made too" { step("work"); 2 }
}

// S1
#[test]
fn agents_can_be_defined_by_macros() {
    let collector = Collector::new();
    assert_eq!(
        block_on(collector.run(async { made().await + made_too().await })),
        3
    );
    let paths = paths(&collector)
        .into_iter()
        .map(|(path, _)| path)
        .collect::<Vec<_>>();
    assert_eq!(
        paths,
        [
            "agent:made",
            "agent:made too/section:work",
            "agent:made too"
        ]
    );
}

mod both_names {
    use tool_core::agent;
    use tool_core::trace::agent;

    #[agent("outer")]
    pub(super) async fn outer() -> u8 {
        agent("inner", async { 5 }).await
    }
}

// S1
#[test]
fn agent_attribute_and_function_can_share_scope() {
    let collector = Collector::new();
    assert_eq!(block_on(collector.run(both_names::outer())), 5);
    assert_eq!(paths(&collector)[0].0, "agent:outer/agent:inner");
}

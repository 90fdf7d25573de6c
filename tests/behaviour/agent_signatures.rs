//! `#[agent]` on methods, traits, generics, functions that return futures, and tools.

use crate::support::{block_on, paths};
use std::fmt::Display;
use std::pin::Pin;
use tool_core::trace::{self, Collector, SpanKind, SpanStatus};
use tool_core::{RunContext, ToolContext, agent, tool, toolset};

const OK: SpanStatus = SpanStatus::Ok;

#[derive(Debug, PartialEq)]
struct Failed(u8);

fn step(name: &'static str) {
    trace::in_scope(SpanKind::Section, name, || ());
}

struct Desk {
    notes: Vec<String>,
}

impl Desk {
    #[agent("reader")]
    async fn first(&self) -> Option<&str> {
        tokio::task::yield_now().await;
        self.notes.first().map(String::as_str)
    }

    #[agent("writer")]
    async fn note(&mut self, text: impl Display + Send) -> &mut String {
        tokio::task::yield_now().await;
        self.notes.push(text.to_string());
        self.notes.last_mut().expect("one was pushed")
    }

    #[agent("closer")]
    fn close(self) -> Self {
        self
    }

    #[agent("counter")]
    fn count<const N: usize, T>(&self, wanted: [T; N]) -> usize
    where
        T: PartialEq<String>,
    {
        wanted
            .iter()
            .filter(|wanted| self.notes.iter().any(|note| **wanted == *note))
            .count()
    }

    #[agent("lister")]
    fn all(&self) -> impl Iterator<Item = &str> + '_ {
        self.notes.iter().map(String::as_str)
    }

    #[agent("boxer")]
    async fn boxed(
        &self,
        deep: bool,
    ) -> Result<Box<dyn Display + Send>, Box<dyn std::error::Error + Send + Sync>> {
        if deep {
            return Ok(Box::new(7));
        }
        let number: u8 = self.first().await.unwrap_or("none").parse()?;
        Ok(Box::new(number))
    }
}

// S1
#[test]
fn methods_keep_their_signatures() {
    let collector = Collector::new();
    block_on(collector.run(async {
        let mut desk = Desk { notes: Vec::new() };
        desk.note("one").await.push('!');
        assert_eq!(desk.first().await, Some("one!"));
        assert_eq!(desk.count(["one!".to_owned()]), 1);
        assert_eq!(desk.all().count(), 1);
        assert_eq!(desk.boxed(true).await.expect("boxed").to_string(), "7");
        assert!(
            desk.boxed(false)
                .await
                .is_err_and(|error| error.to_string().contains("digit"))
        );
        assert_eq!(desk.close().notes, ["one!"]);
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
            "writer", "reader", "counter", "lister", "boxer", "reader", "boxer", "closer"
        ]
    );
}

trait Work {
    fn work(&self) -> impl Future<Output = Result<u8, Failed>> + Send;

    fn work_in_a_box<'a>(&'a self)
    -> Pin<Box<dyn Future<Output = Result<u8, Failed>> + Send + 'a>>;
}

impl Work for Desk {
    #[agent("by hand")]
    fn work(&self) -> impl Future<Output = Result<u8, Failed>> + Send {
        step("set-up");
        async {
            tokio::task::yield_now().await;
            step("work");
            Err(Failed(1))
        }
    }

    #[agent("in a box")]
    fn work_in_a_box<'a>(
        &'a self,
    ) -> Pin<Box<dyn Future<Output = Result<u8, Failed>> + Send + 'a>> {
        step("set-up");
        Box::pin(async move {
            tokio::task::yield_now().await;
            step("work");
            Ok(self.notes.len() as u8)
        })
    }
}

// S11
#[test]
fn set_up_code_and_the_returned_future_share_a_span() {
    let collector = Collector::new();
    let desk = Desk { notes: Vec::new() };
    assert_eq!(
        block_on(collector.run(async { desk.work().await })),
        Err(Failed(1))
    );
    assert_eq!(
        block_on(collector.run(async { desk.work_in_a_box().await })),
        Ok(0)
    );
    let expected = [
        ("agent:by hand/section:set-up", OK),
        ("agent:by hand/section:work", OK),
        ("agent:by hand", SpanStatus::Error),
        ("agent:in a box/section:set-up", OK),
        ("agent:in a box/section:work", OK),
        ("agent:in a box", OK),
    ];
    assert_eq!(
        paths(&collector),
        expected.map(|(path, status)| (path.to_owned(), status))
    );
    assert_eq!(collector.report().spans().len(), 6);
}

/// Look something up.
#[tool]
#[agent("below")]
async fn tool_above(what: String) -> String {
    step("work");
    what
}

/// Look something up.
#[agent("above")]
#[tool]
fn tool_below(what: String) -> String {
    step("work");
    what
}

#[derive(Default)]
struct Library;

#[toolset]
impl Library {
    /// Look something up.
    #[tool]
    #[agent("librarian")]
    async fn find(&self, what: String) -> Result<String, tool_core::ToolError> {
        self.shelves();
        Ok(what)
    }

    /// Look something up.
    #[agent("clerk")]
    #[tool(name = "get")]
    async fn fetch(&self, what: String) -> Result<String, tool_core::ToolError> {
        Err(tool_core::ToolError::permanent(what))
    }

    #[agent("page")]
    fn shelves(&self) {}
}

// S2
#[test]
fn agent_span_is_inside_the_tool_span() {
    let collector = Collector::new();
    let tools = ToolContext::builder()
        .with(tool_above)
        .with(tool_below)
        .with(Library)
        .build()
        .expect("sound");
    let ctx = RunContext::detached();
    let arguments = r#"{"what":"x"}"#;
    block_on(collector.run(async {
        tool_above(String::new()).await;
        tool_below(String::new());
        tools.call("tool_above", arguments, &ctx).await;
        tools.call("tool_below", arguments, &ctx).await;
        tools.call("find", arguments, &ctx).await;
        tools.call("get", arguments, &ctx).await;
    }));
    let of = |tool: &str, agent: &str| {
        let path = format!("tool:{tool}/agent:{agent}");
        [
            (format!("{path}/section:work"), OK),
            (path, OK),
            (format!("tool:{tool}"), OK),
        ]
    };
    let twice = [of("tool_above", "below"), of("tool_below", "above")].concat();
    let library = [
        ("tool:find/agent:librarian/agent:page", OK),
        ("tool:find/agent:librarian", OK),
        ("tool:find", OK),
        ("tool:get/agent:clerk", SpanStatus::Error),
        ("tool:get", SpanStatus::Error),
    ];
    let library = library.map(|(path, status)| (path.to_owned(), status));
    assert_eq!(
        paths(&collector),
        [twice.clone(), twice, library.to_vec()].concat()
    );
}

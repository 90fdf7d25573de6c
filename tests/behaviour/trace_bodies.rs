//! Bodies of tools inside their spans.

use crate::support::{block_on, paths, statuses_of_broken};
use tool_core::trace::{self, Collector, SpanKind, SpanStatus};
use tool_core::{ToolError, tool, toolset};

const OK: SpanStatus = SpanStatus::Ok;

/// Runs a future with its own collector, and returns the paths of the spans.
fn traced<F: Future>(work: F) -> Vec<String> {
    let collector = Collector::new();
    block_on(collector.run(work));
    paths(&collector)
        .into_iter()
        .map(|(path, _)| path)
        .collect()
}

struct Attic;

#[toolset(prefix = "attic", discover = false)]
impl Attic {
    /// Look something up.
    #[tool(name = "look")]
    async fn look_up(&self, what: &str) -> Result<String, ToolError> {
        if what.is_empty() {
            Err(ToolError::permanent("nothing to look up"))
        } else {
            Ok(what.to_owned())
        }
    }
}

// S5
#[test]
fn error_of_a_direct_call_closes_its_span_as_error() {
    let collector = Collector::new();
    let failed = block_on(collector.run(Attic.look_up("")));
    assert_eq!(
        failed.map_err(|error| error.message().to_owned()),
        Err("nothing to look up".to_owned())
    );
    assert!(block_on(collector.run(Attic.look_up("tea"))).is_ok());
    assert_eq!(
        paths(&collector),
        [
            ("tool:look".to_owned(), SpanStatus::Error),
            ("tool:look".to_owned(), OK)
        ]
    );
    let report = collector.report();
    let error = report.spans()[0].error().expect("an error");
    assert!(error.kind.ends_with("ToolError"), "{error:?}");
    assert_eq!(error.message, None);
}

/// Panics, or waits for ever.
#[tool]
async fn fragile(panics: bool) {
    if panics {
        panic!("boom");
    }
    std::future::pending::<()>().await;
}

/// Panics at once.
#[tool]
fn brittle() -> u8 {
    panic!("boom")
}

// S1
#[test]
fn panicking_or_dropped_direct_call_closes_its_span() {
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

struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        trace::in_scope(SpanKind::Section, "dropped", || ());
    }
}

/// Holds something while it waits.
#[tool]
async fn keeps_something(wait: bool) {
    let _held = Held;
    if wait {
        std::future::pending::<()>().await;
    }
}

// S1
#[test]
fn values_of_a_tool_are_dropped_inside_its_span() {
    let found = traced(async {
        keeps_something(false).await;
        let waits = std::pin::pin!(async {
            tokio::time::timeout(std::time::Duration::from_millis(1), keeps_something(true)).await
        });
        assert!(waits.await.is_err());
    });
    assert_eq!(
        found,
        [
            "tool:keeps_something/section:dropped",
            "tool:keeps_something",
            "tool:keeps_something/section:dropped",
            "tool:keeps_something"
        ]
    );
}

/// With its own attribute.
#[allow(clippy::mixed_attributes_style)]
#[tool]
fn inner_attribute(text: &str) -> usize {
    #![allow(unused_variables)]
    //! And a word about it.
    let unused = 1;
    text.len()
}

struct Grid<T, const N: usize>([T; N]);

#[toolset(name = "grid")]
impl<T: Clone + serde::Serialize + Send + Sync + 'static, const N: usize> Grid<T, N> {
    /// All cells.
    #[tool]
    async fn cells(
        &self,
        mut most: usize,
    ) -> Result<Vec<T>, Box<dyn std::error::Error + Send + Sync>> {
        most = most.min(Self::size());
        let wanted: usize = "2".parse()?;
        if most < wanted {
            return Err("too few".into());
        }
        Ok(self.0.iter().take(most).cloned().collect())
    }

    fn size() -> usize {
        N
    }
}

// S2
#[test]
fn bodies_keep_their_meaning_inside_a_span() {
    let found = traced(async {
        assert_eq!(inner_attribute("four"), 4);
        assert_eq!(Grid([1, 2, 3]).cells(9).await.expect("cells"), [1, 2, 3]);
        assert_eq!(
            Grid([1, 2, 3])
                .cells(1)
                .await
                .expect_err("too few")
                .to_string(),
            "too few"
        );
    });
    assert_eq!(found, ["tool:inner_attribute", "tool:cells", "tool:cells"]);
}

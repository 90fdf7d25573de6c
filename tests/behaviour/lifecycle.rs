//! Opening and closing toolsets.

use crate::support::{block_on, data};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_core::{ErrorKind, Tool, ToolContext, Toolset, toolset};

#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    closed: AtomicUsize,
}

struct Sound(Arc<Counts>);

#[toolset(discover = false)]
impl Sound {
    #[setup]
    async fn open(&self) -> Result<(), String> {
        tokio::task::yield_now().await;
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    #[close]
    fn shut(&self) {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
    }

    /// Works.
    #[tool]
    fn works(&self) -> bool {
        true
    }
}

struct Failing;

#[toolset(discover = false)]
impl Failing {
    #[setup]
    fn open(&self) -> Result<(), String> {
        Err("no database".into())
    }

    /// Does not work.
    #[tool]
    fn fails(&self) -> bool {
        false
    }
}

struct Panicking;

#[toolset(discover = false)]
impl Panicking {
    #[setup]
    async fn open(&self) {
        panic!("boom")
    }

    /// Does not work.
    #[tool]
    fn panics(&self) -> bool {
        false
    }
}

struct Outer(Arc<Sound>, Arc<Failing>);

impl Toolset for Outer {
    fn id(&self) -> &str {
        "outer"
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        vec![Tool::Toolset(self.0.clone()), Tool::Toolset(self.1.clone())]
    }
}

// L6
#[test]
fn toolset_that_fails_to_open_is_reported_and_not_offered() {
    let counts = Arc::new(Counts::default());
    let outer = Outer(Arc::new(Sound(Arc::clone(&counts))), Arc::new(Failing));
    let tools = ToolContext::builder()
        .with(outer)
        .with(Panicking)
        .build()
        .expect("sound");
    let (open, failures) = block_on(tools.setup());
    let failed = failures
        .iter()
        .map(|failure| (failure.toolset.as_str(), failure.error.kind()))
        .collect::<Vec<_>>();
    assert_eq!(
        failed,
        [
            ("failing", ErrorKind::Permanent),
            ("panicking", ErrorKind::Internal)
        ]
    );
    assert!(open.has_tool("works") && !open.has_tool("fails") && !open.has_tool("panics"));
    assert!(tools.has_tool("fails"), "the context itself is immutable");
    assert_eq!(data(&open, "works", "{}"), json!(true));
    assert_eq!(counts.opened.load(Ordering::SeqCst), 1);
}

// L6
#[test]
fn closing_closes_nested_toolsets() {
    let counts = Arc::new(Counts::default());
    let outer = Outer(Arc::new(Sound(Arc::clone(&counts))), Arc::new(Failing));
    let tools = ToolContext::builder().with(outer).build().expect("sound");
    assert_eq!(block_on(tools.close()).len(), 0);
    assert_eq!(counts.closed.load(Ordering::SeqCst), 1);
}

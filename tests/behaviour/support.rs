//! Helpers of the tests.

use serde_json::Value;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tool_core::tool::IntoTool;
use tool_core::trace::{Collector, SpanRecord, SpanStatus};
use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse};

/// Runs a future to completion.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// Builds a context with one tool.
pub fn tools<M>(tool: impl IntoTool<M>) -> ToolContext {
    ToolContext::builder()
        .with(tool)
        .build()
        .expect("a sound tool")
}

/// Calls a tool outside of a session.
pub fn call(tools: &ToolContext, name: &str, arguments: impl ToString) -> ToolResponse {
    let arguments = arguments.to_string();
    block_on(tools.call(name, &arguments, &RunContext::detached()))
}

/// Calls a tool that must succeed, and returns its data.
pub fn data(tools: &ToolContext, name: &str, arguments: impl ToString) -> Value {
    let response = call(tools, name, arguments);
    assert!(response.is_ok(), "{}", response.to_json());
    response.data().expect("JSON")
}

/// Calls a tool that must fail, and returns the kind and the message of its error.
pub fn failure(tools: &ToolContext, name: &str, arguments: impl ToString) -> (ErrorKind, String) {
    let response = call(tools, name, arguments);
    let error = response
        .error()
        .unwrap_or_else(|| panic!("succeeded: {}", response.to_json()));
    (error.kind, error.message.clone())
}

/// Returns the path and the status of each span, in the order in which they ended.
pub fn paths(collector: &Collector) -> Vec<(String, SpanStatus)> {
    let report = collector.report();
    let path = |span: &SpanRecord| {
        let mut labels = vec![span.label()];
        let mut parent = span.parent();
        while let Some(above) = report
            .spans()
            .iter()
            .find(|above| Some(above.span_id()) == parent)
        {
            labels.push(above.label());
            parent = above.parent();
        }
        labels.reverse();
        (labels.join("/"), span.status())
    };
    report.spans().iter().map(path).collect()
}

/// Returns the statuses of the spans of a panicking async fn, a panicking sync fn and a dropped async fn.
pub fn statuses_of_broken<T, U>(
    panics: impl Future<Output = T>,
    panics_at_once: impl FnOnce() -> U,
    hangs: impl Future<Output = T>,
) -> Vec<SpanStatus> {
    let collector = Collector::new();
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(collector.run(panics)))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| collector.run_sync(panics_at_once))).is_err());
    block_on(async {
        assert!(
            tokio::time::timeout(Duration::from_millis(1), collector.run(hangs))
                .await
                .is_err()
        );
    });
    paths(&collector)
        .into_iter()
        .map(|(_, status)| status)
        .collect()
}

//! Calls of the tools.

use crate::types::{self, Case};
use serde_json::Value;
use std::cell::LazyCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use tool_core::arguments::Coercions;
use tool_core::call::Arguments;
use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse};

/// Every tool, with all coercions and with none.
pub(crate) struct Tools {
    pub coercing: ToolContext,
    pub strict: ToolContext,
    pub cases: Vec<Case>,
}

/// Returns the driver, which is built once.
pub(crate) fn tools() -> &'static Tools {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    TOOLS.get_or_init(|| Tools {
        coercing: types::tools().build().expect("the tools are sound"),
        strict: types::tools()
            .coercions(Coercions::NONE)
            .build()
            .expect("the tools are sound"),
        cases: types::cases(),
    })
}

/// Returns the published schema of the tool.
pub(crate) fn schema(name: &str) -> &'static Value {
    let definition = tools()
        .coercing
        .definitions()
        .find(|definition| definition.name() == name);
    definition.expect("the tool is there").parameters()
}

/// Calls the tool. A panic of the runtime is a failure of the test.
pub(crate) fn call<'a>(
    tools: &ToolContext,
    name: &str,
    arguments: impl Into<Arguments<'a>>,
) -> ToolResponse {
    thread_local! {
        static RUNTIME: LazyCell<tokio::runtime::Runtime> = LazyCell::new(|| {
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
        });
    }
    let arguments = arguments.into();
    let ctx = RunContext::detached();
    let called = AssertUnwindSafe(|| {
        RUNTIME.with(|runtime| runtime.block_on(tools.call(name, arguments, &ctx)))
    });
    catch_unwind(called).expect("a call never panics")
}

/// Returns whether the arguments were accepted. Any response but a result or VALIDATION is a failure.
pub(crate) fn accepted(response: &ToolResponse) -> Result<bool, String> {
    match response.error() {
        None => Ok(true),
        Some(error) if error.kind == ErrorKind::Validation => {
            let problems = response.meta().problems();
            if problems.is_empty() {
                return Err(format!("refused without a problem: {}", response.to_json()));
            }
            Ok(false)
        }
        Some(error) => Err(format!(
            "neither taken nor refused: {:?} {}",
            error.kind, error.message
        )),
    }
}

use std::sync::Arc;
use tool_core::session::{HookedCall, RuntimeBuilder};

fn counted(runtime: RuntimeBuilder, calls: Arc<str>) -> RuntimeBuilder {
    runtime.before(async move |call: HookedCall<'_>| {
        println!("{} {calls}", call.tool.name());
        Ok(())
    })
}

fn main() {}

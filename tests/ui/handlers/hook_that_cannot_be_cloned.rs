use std::sync::atomic::{AtomicU32, Ordering};
use tool_core::session::{HookedCall, RuntimeBuilder};

fn counted(runtime: RuntimeBuilder, calls: AtomicU32) -> RuntimeBuilder {
    runtime.before(async move |call: HookedCall<'_>| {
        println!("{} {}", call.tool.name(), calls.fetch_add(1, Ordering::Relaxed));
        Ok(())
    })
}

fn main() {}

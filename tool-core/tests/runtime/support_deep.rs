//! Values that nest 100,000 deep, and threads whose stack is too small to follow them.

use serde_json::Value;
use std::thread;

/// Returns lists in each other.
pub(crate) fn deep_value(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

/// Returns a value that ends the process if recursion follows it.
pub(crate) fn deep() -> Value {
    deep_value(100_000)
}

/// Runs a test on a thread with a stack of 320 KiB.
///
/// `serde_json` reads 100 levels with 232 KiB in a debug build of some features. 100,000 levels need more than any such stack.
pub(crate) fn on_small_stack<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(test());
    };
    thread::Builder::new()
        .stack_size(320 << 10)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no panic");
}

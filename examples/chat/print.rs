//! The printed conversation.

use std::io::Write;
use tool_adapters::providers::Event;
use tool_core::ToolResponse;
use tool_core::session::{Hook, HookFuture, HookedCall, Reply};

/// Prints a piece of an answer.
pub(crate) fn piece(event: &Event) {
    match event {
        Event::Text(text) => print!("{text}"),
        Event::Reasoning(text) => println!("  ({text})"),
        Event::Call(call) => println!("  > {} {}", call.name(), call.arguments()),
        Event::CutCall(call) => println!("  > {} {} .. (cut off)", call.name(), call.arguments()),
        _ => {}
    }
    // A closed standard output is ignored.
    let _ = std::io::stdout().flush();
}

/// Prints the end of a reply.
pub(crate) fn end(reply: &Reply) {
    let used = reply.usage;
    let finish = reply.finish;
    println!(
        "\n  ({finish:?}: {} steps of calls, {} tokens read, {} written)\n",
        reply.steps, used.input, used.output
    );
}

/// A hook that prints the outcome of each call.
pub(crate) struct Answers;

impl Hook for Answers {
    fn after<'a>(
        &'a self,
        _: &'a HookedCall<'a>,
        response: &'a mut ToolResponse,
    ) -> HookFuture<'a, ()> {
        match (response.data_json(), response.error()) {
            (Some(data), _) => println!("  < {data}"),
            (None, Some(error)) => println!("  < {}: {}", error.kind, error.message),
            (None, None) => {}
        }
        Box::pin(std::future::ready(()))
    }
}

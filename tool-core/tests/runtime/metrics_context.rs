//! The tokens in the context window. R-M3, R-M4

use super::metrics::{free, speak};
use super::support::{open, runtime, text, tools};
use serde_json::{Value, json};
use tool_core::Mode;

// R-M4
#[tokio::test]
async fn initial_tokens_are_prompt_and_declarations() {
    let session = text(tools![speak], free()).await;
    let context = session.context();
    assert_eq!(
        context.system_prompt_tokens,
        session.instructions().chars().count().div_ceil(4) as u64
    );
    let tools = session.definitions();
    let declared = tools
        .iter()
        .map(|tool| json!({"name": tool.name(), "description": tool.description(), "parameters": tool.parameters()}));
    let declared = Value::from(declared.collect::<Vec<_>>()).to_string();
    assert_eq!(
        context.tool_decl_tokens,
        declared.chars().count().div_ceil(4) as u64
    );
    assert_eq!(
        context.session_init_tokens,
        context.system_prompt_tokens + context.tool_decl_tokens
    );
    assert_eq!(context.peak_tokens, 0);
}

// R-M3, R-M4
#[tokio::test]
async fn host_prompt_replaces_instructions_and_keeps_peak() {
    let runtime = runtime(tools![speak], free());
    let own = runtime
        .session("s", Mode::Text)
        .system_prompt("é".repeat(9).as_str())
        .await
        .expect("opens");
    assert_eq!(own.context().system_prompt_tokens, 3);
    for tokens in [7, 70, 30] {
        own.observe_context(tokens);
    }
    assert_eq!(own.context().peak_tokens, 70);
    let context = runtime.metrics().context;
    assert_eq!((context.system_prompt_tokens, context.peak_tokens), (3, 70));
    assert_eq!(context, own.context());
    own.end().await;
    let next = open(&runtime, "t", Mode::Voice).await;
    next.observe_context(20);
    // The figures of the last opened session, and the peak of all.
    let context = runtime.metrics().context;
    assert_eq!(
        (context.tool_decl_tokens, context.peak_tokens),
        (next.context().tool_decl_tokens, 70)
    );
    assert_eq!(
        context.system_prompt_tokens,
        next.context().system_prompt_tokens
    );
}

// R-M3, R-M4
#[tokio::test]
async fn observed_prompt_is_the_prompt_of_the_session() {
    let runtime = runtime(tools![speak], free());
    let session = open(&runtime, "s", Mode::Text).await;
    session.observe_system_prompt(&"é".repeat(41));
    let context = session.context();
    assert_eq!(context.system_prompt_tokens, 11);
    assert_eq!(context.session_init_tokens, 11 + context.tool_decl_tokens);
    assert_eq!(runtime.metrics().context, context);
}

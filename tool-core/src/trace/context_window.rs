//! The sizes of models' contexts, which a table provides.

/// The table of context sizes that a linked crate provides.
#[doc(hidden)]
pub struct ContextWindows(pub fn(Option<&str>, &str) -> Option<u64>);

inventory::collect!(ContextWindows);

/// Returns the number of tokens that the context of a model can hold, if a linked table knows the
/// model. The crate `tool-adapters-telemetry` has one, beside the prices.
///
/// ```
/// // Nothing is linked here.
/// assert_eq!(tool_core::trace::context_window(Some("openai"), "gpt-5"), None);
/// ```
pub fn context_window(provider: Option<&str>, model: &str) -> Option<u64> {
    let mut tables = inventory::iter::<ContextWindows>.into_iter();
    tables.find_map(|table| (table.0)(provider, model))
}

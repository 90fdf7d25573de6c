//! The macros of `tool-core`: `#[toolset]`, `#[tool]`, `#[agent]` and `#[derive(ToolError)]`.
//!
//! Use them through `tool_core`, where they are documented with examples; this crate is not a dependency of its own.
//!
//! # How they work
//!
//! `driver` runs the pipeline. `input` is the grammar, where bodies stay raw tokens; `attr` reads options; `model` says
//! what an item means; `check` holds one function per rule; `expand` makes tokens of the model, and `fallback` does where
//! there were `errors`, which are all reported at once. Whatever does not depend on the tokens of a method is a function
//! in `tool_core::__private`, so that the generated code stays small.

mod attr;
mod check;
mod docs;
mod driver;
mod errors;
mod expand;
mod fallback;
mod input;
mod model;
mod names;
mod tokens;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Turns the `#[tool]` methods of an `impl` block into tools.
///
/// Options: `name`, `title`, `description`, `prefix`, `auth`, `crate`, `discover`, `part`, `parts`. In the block `#[setup]`
/// and `#[close]` mark the toolset's lifecycle; on parameters stand `#[arg(..)]` and `#[context]`. The methods stay what
/// they were.
#[proc_macro_attribute]
pub fn toolset(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::toolset(args.into(), &item.into()).into()
}

/// Turns a function into a tool: a free fn by itself, a method in a `#[toolset]` block.
///
/// Options: `name`, `title`, `description`, `category`, `modes`, `confirm`, `timeout`, `idempotent`, `destructive`,
/// `open_world`, `ignore_on_enter`, `cancellable`, `on_duplicate`, `duplicate_scope`, `sequential`, `blocking`,
/// `max_output`, `max_calls`, `guide`, `args`.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::tool(args.into(), &item.into()).into()
}

/// Runs a function inside an agent's span: all of its body, set-up code too. The function stays what it was.
///
/// Options: the name, which stands alone and is the function's where there is none; `crate`.
#[proc_macro_attribute]
pub fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::agent(args.into(), &item.into()).into()
}

/// Tells the model what went wrong: `Display` is shown, with the kind and flags that `#[tool_error(..)]` gives.
///
/// Options, on the type for all variants or on one of them: `kind`, `retryable`, `partial_side_effects`; `crate` on the
/// type. Without a kind an error is permanent; `internal` hides its text from the model.
#[proc_macro_derive(ToolError, attributes(tool_error))]
pub fn derive_tool_error(item: TokenStream) -> TokenStream {
    driver::derive_tool_error(item.into()).into()
}

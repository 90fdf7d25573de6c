//! The macros of `tool-core`: `#[toolset]`, `#[tool]`, `#[prompt]`, `#[resource]`, `#[agent]` and
//! `#[derive(ToolError)]`.
//!
//! Use the macros through `tool_core`, which documents them with examples. Do not depend on this
//! crate.
//!
//! # Pipeline
//!
//! `driver` runs the steps. `input` parses the user's item, leaves bodies as raw tokens, and
//! `print` writes it again. `attr` parses options. `model` is the meaning of the item. `check` has
//! one function for each rule. `expand` turns the model into tokens, and `fallback` prints the item
//! if there are `errors`, which are all reported at once.
//!
//! Code that does not depend on the tokens of a method is a function in `tool_core::__private`, so
//! that the generated code stays small.

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
mod print;
mod tokens;
mod tool_error;
mod tool_type;
mod uri;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Turns the `#[tool]` methods of an `impl` block into tools.
///
/// Options: `name`, `title`, `description`, `prefix`, `auth`, `crate`, `discover`, `part`, `parts`.
/// `#[setup]` and `#[close]` mark methods of the lifecycle. Parameters take `#[arg(..)]` and
/// `#[context]`. The signatures of the methods do not change.
#[proc_macro_attribute]
pub fn toolset(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::toolset(args.into(), &item.into()).into()
}

/// Turns a free function, or a method of a `#[toolset]` block, into a tool.
///
/// `tool_core` documents the options.
#[proc_macro_attribute]
pub fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::tool(args.into(), &item.into()).into()
}

/// Makes a prompt of a function; documented in `tool_core`.
#[proc_macro_attribute]
pub fn prompt(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::prompt(args.into(), &item.into()).into()
}

/// Makes a resource of a function; documented in `tool_core`.
#[proc_macro_attribute]
pub fn resource(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::resource(args.into(), &item.into()).into()
}

/// Runs the body of a function inside the span of an agent. The signature does not change.
///
/// Options: the name, given without a key, which defaults to the name of the function; `crate`.
#[proc_macro_attribute]
pub fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    driver::agent(args.into(), &item.into()).into()
}

/// Derives `Serialize`, `Deserialize` and `JsonSchema` for a struct or an enum, which parameters
/// and results need. The user's crate depends on neither serde nor schemars, so a plain derive
/// fails there with `` can't find crate for `serde` ``. Attributes such as
/// `#[serde(rename_all = "snake_case")]` work as usual.
///
/// Options: `input` leaves out `Serialize`, which a type with a `Secret` does not have; `crate`.
///
/// A toolset's secrets are bound to each text in its settings. `#[setting(binds_secret = false)]`
/// on a field takes it out, and `#[setting(binds_secret)]` adds a field that is no text: see
/// `tool_core::tool::BoundSettings`.
#[proc_macro_attribute]
pub fn tool_type(args: TokenStream, item: TokenStream) -> TokenStream {
    tool_type::expand(args.into(), &item.into()).into()
}

/// Converts an error into a `ToolError`, whose message is the error's `Display`.
///
/// `#[tool_error(..)]` on the type applies to all variants, and on a variant to that one. Options:
/// `kind` (defaults to `permanent`; `internal` hides the message from the model), `retryable`,
/// `partial_side_effects`, and `crate` on the type.
#[proc_macro_derive(ToolError, attributes(tool_error))]
pub fn derive_tool_error(item: TokenStream) -> TokenStream {
    tool_error::derive(item.into()).into()
}

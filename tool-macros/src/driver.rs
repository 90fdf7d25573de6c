//! The macros, from tokens to tokens: parse, lower, check, then expand or fall back.

use proc_macro2::TokenStream;
use syn::Item;

use crate::attr::agent::AgentOptions;
use crate::attr::grammar::from_call;
use crate::attr::tool::ItemKind;
use crate::attr::tool::ItemOptions;
use crate::attr::toolset::ToolsetOptions;
use crate::errors::Errors;
use crate::expand::{body, items};
use crate::input::{FunctionItem, ImplBlock};
use crate::model::lower;
use crate::tokens::head_of;
use crate::{check, fallback};

/// Expands `#[toolset]`.
pub(crate) fn toolset(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ToolsetOptions::parse(&from_call("toolset", args), &mut errors);
    let Some(block) = errors.take(ImplBlock::parse(item.clone())) else {
        return fallback::unparsed(&errors.into_tokens().unwrap_or_default(), item);
    };
    let toolset = lower::toolset(&block, options, &mut errors);
    check::check_toolset(&toolset, &mut errors);
    match errors.into_tokens() {
        None => items::expand_toolset(&toolset),
        Some(errors) => fallback::toolset(&errors, &toolset),
    }
}

/// Expands `#[tool]` on a free function.
pub(crate) fn tool(args: TokenStream, item: &TokenStream) -> TokenStream {
    function(ItemKind::Tool, args, item)
}

/// Expands `#[prompt]` on a function.
pub(crate) fn prompt(args: TokenStream, item: &TokenStream) -> TokenStream {
    function(ItemKind::Prompt, args, item)
}

/// Expands `#[resource]` on a function.
pub(crate) fn resource(args: TokenStream, item: &TokenStream) -> TokenStream {
    function(ItemKind::Resource, args, item)
}

fn function(kind: ItemKind, args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ItemOptions::parse(kind, &from_call(kind.name(), args), &mut errors);
    let parsed = syn::parse2::<FunctionItem>(item.clone())
        .map_err(|error| misplaced_function(kind, item, error));
    let Some(function) = errors.take(parsed) else {
        return fallback::unparsed(&errors.into_tokens().unwrap_or_default(), item);
    };
    let krate = options.krate.clone();
    let tool = lower::tool(kind, &function, options, krate.as_ref(), &mut errors);
    check::check_function(&tool, &mut errors);
    match errors.into_tokens() {
        None => items::expand_function(&tool),
        Some(errors) => fallback::function(&errors, &function),
    }
}

/// Expands `#[agent]`.
pub(crate) fn agent(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = AgentOptions::parse(&from_call("agent", args), &mut errors);
    let parsed =
        syn::parse2::<FunctionItem>(item.clone()).map_err(|error| misplaced_agent(item, error));
    if let Some(function) = errors.take(parsed) {
        check::check_agent(&function, &mut errors);
        if errors.is_empty() {
            return body::agent(item, &function, &options);
        }
    }
    fallback::unparsed(&errors.into_tokens().unwrap_or_default(), item)
}

/// Replaces the error "expected `fn`" for an attribute on another item.
fn misplaced(
    item: &TokenStream,
    error: syn::Error,
    name: &str,
    on_impl: &str,
    elsewhere: &str,
) -> syn::Error {
    let message = |help| format!("`#[{name}]` can only be applied to functions\nhelp: {help}");
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(_)) | Err(_) => error,
        Ok(Item::Impl(item)) => syn::Error::new_spanned(item.self_ty, message(on_impl)),
        Ok(_) => {
            let head = head_of(&item.clone().into_iter().collect::<Vec<_>>());
            syn::Error::new_spanned(head, message(elsewhere))
        }
    }
}

fn misplaced_function(kind: ItemKind, item: &TokenStream, error: syn::Error) -> syn::Error {
    let on_impl = format!(
        "write `#[toolset]` above the `impl`, and `{}` above its methods",
        kind.shown()
    );
    misplaced(
        item,
        error,
        kind.name(),
        &on_impl,
        "move it to a `fn`, or to a method of a `#[toolset]` block",
    )
}

fn misplaced_agent(item: &TokenStream, error: syn::Error) -> syn::Error {
    let on_impl = "move it to the method that does the agent's work";
    misplaced(
        item,
        error,
        "agent",
        on_impl,
        "move it to the `fn` that does the agent's work",
    )
}

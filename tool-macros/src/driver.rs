//! The macros, from tokens to tokens: parse, lower, check, and then expand or fall back.

use proc_macro2::TokenStream;
use syn::{Attribute, Generics, Ident, Item};

use crate::attr::agent::AgentOptions;
use crate::attr::tool::ToolOptions;
use crate::attr::tool_error::ToolErrorOptions;
use crate::attr::toolset::ToolsetOptions;
use crate::attr::{from_call, is};
use crate::errors::Errors;
use crate::expand::tool_error::{ErrorType, Shape};
use crate::expand::{block, function, tool_error, traced};
use crate::input::{Block, Function, head_of};
use crate::model::lower;
use crate::{check, fallback};

pub(crate) fn toolset(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ToolsetOptions::parse(&from_call("toolset", args), &mut errors);
    let Some(block) = errors.take(Block::parse(item.clone())) else {
        return fallback::unread(&errors.into_tokens().unwrap_or_default(), item);
    };
    let toolset = lower::toolset(&block, options, &mut errors);
    check::toolset(&toolset, &mut errors);
    match errors.into_tokens() {
        None => block::expand(&toolset),
        Some(errors) => fallback::toolset(&errors, &toolset),
    }
}

pub(crate) fn tool(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = ToolOptions::parse(&from_call("tool", args), &mut errors);
    let parsed = syn::parse2::<Function>(item.clone()).map_err(|error| misplaced(item, error));
    let Some(function) = errors.take(parsed) else {
        return fallback::unread(&errors.into_tokens().unwrap_or_default(), item);
    };
    let krate = options.krate.clone();
    let tool = lower::tool(&function, options, krate.as_ref(), &mut errors);
    check::function(&tool, &mut errors);
    match errors.into_tokens() {
        None => function::expand(&tool),
        Some(errors) => fallback::function(&errors, &function),
    }
}

pub(crate) fn agent(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = AgentOptions::parse(&from_call("agent", args), &mut errors);
    let parsed = syn::parse2::<Function>(item.clone()).map_err(|error| no_agent(item, error));
    if let Some(function) = errors.take(parsed) {
        check::agent(&function, &mut errors);
        if errors.is_empty() {
            return traced::agent(item, &function, &options);
        }
    }
    fallback::unread(&errors.into_tokens().unwrap_or_default(), item)
}

/// A better word than "expected `fn`" for `#[agent]` on a struct.
fn no_agent(item: &TokenStream, error: syn::Error) -> syn::Error {
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(_)) | Err(_) => error,
        Ok(Item::Impl(item)) => syn::Error::new_spanned(
            item.self_ty,
            "`#[agent]` goes on a function\nhelp: move it to the method that does the agent's work",
        ),
        Ok(_) => syn::Error::new_spanned(
            head_of(&item.clone().into_iter().collect::<Vec<_>>()),
            "`#[agent]` goes on a function\nhelp: move it to the `fn` that does the agent's work",
        ),
    }
}

/// A better word than "expected `fn`" for `#[tool]` on a struct.
fn misplaced(item: &TokenStream, error: syn::Error) -> syn::Error {
    match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(_)) | Err(_) => error,
        Ok(Item::Impl(item)) => syn::Error::new_spanned(
            item.self_ty,
            "`#[tool]` goes on a function\nhelp: write `#[toolset]` above the `impl`, and `#[tool]` above its methods",
        ),
        Ok(_) => syn::Error::new_spanned(
            head_of(&item.clone().into_iter().collect::<Vec<_>>()),
            "`#[tool]` goes on a function\nhelp: move it to a `fn`, or to a method of a `#[toolset]` block",
        ),
    }
}

pub(crate) fn derive_tool_error(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(item) = errors.take(syn::parse2::<Item>(item)) else {
        return errors.into_tokens().unwrap_or_default();
    };
    let parsed = match &item {
        Item::Struct(item) => {
            let options = ToolErrorOptions::parse(&item.attrs, &mut errors);
            fields_bear_nothing(item.fields.iter().flat_map(|field| &field.attrs), &mut errors);
            Some((&item.ident, &item.generics, options.clone(), Shape::Struct(options)))
        }
        Item::Enum(item) => {
            let of_type = ToolErrorOptions::parse(&item.attrs, &mut errors);
            let variants = item.variants.iter().map(|variant| {
                fields_bear_nothing(variant.fields.iter().flat_map(|field| &field.attrs), &mut errors);
                let own = ToolErrorOptions::parse(&variant.attrs, &mut errors);
                if let Some(path) = &own.krate {
                    errors.report(path, "`crate` is said once for the type\nhelp: move it above the `enum`");
                }
                (&variant.ident, own.or(&of_type))
            });
            let variants = variants.collect();
            Some((&item.ident, &item.generics, of_type, Shape::Enum(variants)))
        }
        other => {
            errors.report(other, "`ToolError` derives for structs and enums\nhelp: wrap it in one");
            None
        }
    };
    expanded(parsed, errors)
}

/// With mistakes, the impl still goes out with what could be read, so that the tools which return the type compile.
fn expanded(parsed: Option<(&Ident, &Generics, ToolErrorOptions, Shape)>, errors: Errors) -> TokenStream {
    let implementation = parsed.map(|(ident, generics, options, shape)| {
        tool_error::expand(&ErrorType { ident, generics, krate: options.krate.as_ref(), shape })
    });
    let errors = errors.into_tokens();
    quote::quote!(#errors #implementation)
}

fn fields_bear_nothing<'a>(attrs: impl Iterator<Item = &'a Attribute>, errors: &mut Errors) {
    for attr in attrs.filter(|attr| is(attr, "tool_error")) {
        errors.report(attr, "`#[tool_error]` goes on the type or on a variant\nhelp: move it above the variant");
    }
}

//! The rules for a block as a whole.

use quote::quote;
use syn::{Error, GenericParam, Type};

use super::tool::{NAME_NOTE, check_tool, crate_is_of_the_block};
use super::{arguments, signature, texts};
use crate::attr::grammar::is;
use crate::attr::tool::ItemKind;
use crate::attr::toolset::{PartOption, PrefixOption};
use crate::errors::Errors;
use crate::input::{FunctionItem, ImplMember};
use crate::model::passing::ungrouped_type;
use crate::model::toolset::{SpannedName, Tool, Toolset};
use crate::names::{is_tool_name, normalised};
use crate::tokens::compact;

/// Checks a block.
pub(crate) fn check_toolset(toolset: &Toolset, errors: &mut Errors) {
    is_inherent(toolset, errors);
    has_a_name(toolset, errors);
    has_no_lifetimes(toolset, errors);
    has_tools(toolset, errors);
    part_is_only_a_part(toolset, errors);
    parts_are_named_once(toolset, errors);
    lifecycle(toolset, errors);
    toolset_name(toolset, errors);
    unique_tools(toolset, errors);
    texts::is_one_kind(toolset, errors);
    texts::unique_uris(toolset, errors);
    let prefix = prefix_of(toolset);
    for tool in &toolset.tools {
        crate_is_of_the_block(tool, errors);
        check_tool(tool, prefix.as_deref(), errors);
        generics_are_of_the_block(toolset, tool, errors);
    }
}

/// Checks what a tool does with the parameters of its block.
fn generics_are_of_the_block(toolset: &Toolset, tool: &Tool, errors: &mut Errors) {
    let block = &toolset.block.parsed.generics;
    signature::bounds_are_of_the_block(tool.function, block, tool.kind.shown(), errors);
    for argument in tool.arguments() {
        arguments::derived_is_concrete(argument, block, errors);
    }
}

/// Refuses `impl Trait for T`.
fn is_inherent(toolset: &Toolset, errors: &mut Errors) {
    if let Some((path, for_token)) = &toolset.block.parsed.trait_ {
        let message = "`#[toolset]` can only be applied to an inherent `impl`\nhelp: write `impl Type { .. }` and call the trait's methods from it";
        errors.report(quote!(#path #for_token), message);
    }
}

/// Refuses a type without a name.
fn has_a_name(toolset: &Toolset, errors: &mut Errors) {
    let ty = ungrouped_type(&toolset.block.parsed.self_ty);
    if !matches!(ty, Type::Path(_)) {
        let shown = compact(ty);
        errors.report(
            ty,
            format!("`{shown}` cannot be a toolset\nhelp: put the methods on a struct or an enum"),
        );
    }
}

/// Refuses a type that borrows.
fn has_no_lifetimes(toolset: &Toolset, errors: &mut Errors) {
    let message = "a toolset cannot borrow, because it outlives every call\nhelp: own the data, or share it in an `Arc`";
    for lifetime in toolset.block.parsed.generics.lifetimes() {
        errors.report(lifetime, message);
    }
    // The lifetime of `impl Weather<'_>` is not among the generics.
    if toolset.block.parsed.generics.lifetimes().next().is_none() && toolset.block.borrows() {
        errors.report(&toolset.block.parsed.self_ty, message);
    }
}

/// Refuses a block without tools, unless it has parts.
fn has_tools(toolset: &Toolset, errors: &mut Errors) {
    let attempted = toolset
        .block
        .members
        .iter()
        .any(|member| matches!(member, ImplMember::Broken(..)));
    if toolset.tools.is_empty() && toolset.options.parts.is_empty() && !attempted {
        let message = "`#[toolset]` found no `#[tool]` method in this `impl`\nhelp: add `#[tool]` above a method";
        errors.report(&toolset.block.parsed.self_ty, message);
    }
}

/// Refuses options of the whole toolset on a part.
fn part_is_only_a_part(toolset: &Toolset, errors: &mut Errors) {
    let options = &toolset.options;
    let Some(part) = &options.part else { return };
    for path in options
        .written
        .iter()
        .filter(|path| !path.is_ident("part") && !path.is_ident("crate"))
    {
        let key = path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        errors.report(
            path,
            format!("`{key}` is an option of the main block\nhelp: move it to the `#[toolset]` without `part`"),
        );
    }
    let is_generic = toolset
        .block
        .parsed
        .generics
        .params
        .iter()
        .any(|param| !matches!(param, GenericParam::Lifetime(_)));
    if let (PartOption::Unnamed(path), true) = (part, is_generic) {
        let message = "a part of a generic type needs a name, because it cannot be discovered\nhelp: write `part = admin` here and `parts(admin)` on the main block";
        errors.report(path, message);
    }
}

/// Refuses two parts of one name.
fn parts_are_named_once(toolset: &Toolset, errors: &mut Errors) {
    let mut seen: Vec<&proc_macro2::Ident> = Vec::new();
    for part in &toolset.options.parts {
        if seen.contains(&part) {
            errors.report(
                part,
                format!("duplicate part `{part}`\nhelp: remove one of them"),
            );
        }
        seen.push(part);
    }
}

/// Checks `#[setup]` and `#[close]`: at most one each, on the main block, with `&self` only.
/// Several may be conditional, as at most one of them is compiled.
fn lifecycle(toolset: &Toolset, errors: &mut Errors) {
    for (name, functions) in [("setup", &toolset.setup), ("close", &toolset.close)] {
        for function in functions {
            one_lifecycle(toolset, name, function, errors);
        }
        let is_conditional = functions.iter().all(|function| function.is_conditional());
        if let Some(again) = functions.get(1).filter(|_| !is_conditional) {
            errors.report(
                again.ident(),
                format!("duplicate `#[{name}]` method\nhelp: call this method from the first one"),
            );
        }
    }
}

fn one_lifecycle(toolset: &Toolset, name: &str, function: &FunctionItem, errors: &mut Errors) {
    if toolset.options.part.is_some() {
        errors.report(
            function.ident(),
            format!(
                "`#[{name}]` methods belong to the main block\nhelp: move the method to the `#[toolset]` without `part`"
            ),
        );
    }
    let of_kind = |kind: ItemKind| {
        Some((
            kind.name(),
            function.attrs.iter().find(|attr| is(attr, kind.name()))?,
        ))
    };
    if let Some((noun, attr)) = ItemKind::ALL.into_iter().find_map(of_kind) {
        errors.report(attr, format!("a `#[{name}]` method cannot be a {noun}, because the runtime calls it\nhelp: remove one of the two attributes"));
    }
    let is_shared = function.sig.receiver().is_some_and(signature::is_shared);
    if !is_shared || function.sig.inputs.len() != 1 {
        let message = format!(
            "`#[{name}]` methods take `&self` and no other parameter\nhelp: store the values that it needs in the toolset"
        );
        errors.report(&function.sig.inputs, message);
    }
    if !function.sig.generics.params.is_empty() {
        errors.report(
            &function.sig.generics.params,
            format!("`#[{name}]` methods cannot be generic\nhelp: put the parameters on the type"),
        );
    }
    let block = &toolset.block.parsed.generics;
    signature::bounds_are_of_the_block(function, block, &format!("#[{name}]"), errors);
}

/// Returns the prefix of the block's tools.
fn prefix_of(toolset: &Toolset) -> Option<String> {
    toolset.options.prefix.as_ref().map(|prefix| match prefix {
        PrefixOption::Name => toolset.name.text.clone(),
        PrefixOption::Text(text) => text.value(),
    })
}

/// Checks the names of a toolset and of its prefix.
fn toolset_name(toolset: &Toolset, errors: &mut Errors) {
    let SpannedName { text, span } = &toolset.name;
    if !is_tool_name(text) {
        errors.report_at(*span, format!("invalid toolset name `{text}`\n{NAME_NOTE}"));
    }
    if let Some(PrefixOption::Text(prefix)) = &toolset.options.prefix
        && !is_tool_name(&prefix.value())
    {
        let text = prefix.value();
        errors.report(prefix, format!("invalid prefix `{text}`\n{NAME_NOTE}"));
    }
}

/// Refuses two tools whose names are equal, or equal to some provider. Conditional methods may
/// share a name, as at most one of them is compiled.
fn unique_tools(toolset: &Toolset, errors: &mut Errors) {
    for (index, tool) in toolset.tools.iter().enumerate() {
        let earlier = toolset.tools.iter().take(index).find(|other| {
            let conditional = other.function.is_conditional() && tool.function.is_conditional();
            // A resource is found by its URI.
            let is_named = other.kind == tool.kind && tool.kind != ItemKind::Resource;
            is_named && normalised(&other.name.text) == normalised(&tool.name.text) && !conditional
        });
        let Some(earlier) = earlier else { continue };
        let name = &tool.name.text;
        let first = &earlier.name.text;
        let function = earlier.ident();
        let noun = tool.kind.name();
        let message = if name == first {
            format!(
                "{noun} name `{name}` is already used by `{function}` in this block\nhelp: rename one with `#[{noun}(name = \"...\")]`"
            )
        } else {
            format!(
                "{noun} name `{name}` collides with `{first}` of `{function}` in this block\nhelp: rename one; some providers ignore case, and some turn `-` into `_`"
            )
        };
        errors.report_at(tool.name.span, message);
        errors.push(Error::new(earlier.name.span, "first used here"));
    }
}

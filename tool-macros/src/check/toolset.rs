//! Rules about the block as a whole.

use quote::quote;
use syn::{GenericParam, Type};

use crate::attr::is;
use crate::attr::toolset::Part;
use crate::errors::Errors;
use crate::input::Function;
use crate::model::Toolset;
use crate::model::lend::ungrouped;
use crate::tokens::compact;

/// `impl Trait for T` belongs to the trait.
pub(super) fn is_inherent(toolset: &Toolset, errors: &mut Errors) {
    if let Some((path, for_token)) = &toolset.block.parsed.trait_ {
        let message = "`#[toolset]` goes on an inherent `impl`, not on a trait's\nhelp: write `impl Type { .. }` and call the trait's methods from it";
        errors.report(quote!(#path #for_token), message);
    }
}

/// A toolset is a type of the user's own.
pub(super) fn has_a_name(toolset: &Toolset, errors: &mut Errors) {
    let ty = ungrouped(&toolset.block.parsed.self_ty);
    if !matches!(ty, Type::Path(_)) {
        let shown = compact(ty);
        errors.report(ty, format!("`{shown}` cannot be a toolset\nhelp: put the methods on a struct or an enum"));
    }
}

/// A toolset outlives every call.
pub(super) fn has_no_lifetimes(toolset: &Toolset, errors: &mut Errors) {
    let message =
        "a toolset cannot borrow, because it outlives every call\nhelp: own the data, or share it in an `Arc`";
    for lifetime in toolset.block.parsed.generics.lifetimes() {
        errors.report(lifetime, message);
    }
    // `impl Weather<'_>`
    if toolset.block.parsed.generics.lifetimes().next().is_none() && toolset.block.borrows() {
        errors.report(&toolset.block.parsed.self_ty, message);
    }
}

/// A block without tools is a mistake, unless its parts have them.
pub(super) fn has_tools(toolset: &Toolset, errors: &mut Errors) {
    let attempted = toolset.block.members.iter().any(|member| matches!(member, crate::input::Member::Broken(..)));
    if toolset.tools.is_empty() && toolset.options.parts.is_empty() && !attempted {
        let message = "`#[toolset]` found no `#[tool]` method in this `impl`\nhelp: add `#[tool]` above a method";
        errors.report(&toolset.block.parsed.self_ty, message);
    }
}

/// What is said of the whole toolset is said on its main block.
pub(super) fn part_is_only_a_part(toolset: &Toolset, errors: &mut Errors) {
    let options = &toolset.options;
    let Some(part) = &options.part else { return };
    for path in options.written.iter().filter(|path| !path.is_ident("part") && !path.is_ident("crate")) {
        let key = path.get_ident().map(ToString::to_string).unwrap_or_default();
        errors.report(
            path,
            format!("`{key}` belongs on the toolset's main block\nhelp: move it to the `#[toolset]` without `part`"),
        );
    }
    let is_generic =
        toolset.block.parsed.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
    if let (Part::Unnamed(path), true) = (part, is_generic) {
        let message = "a part of a generic type needs a name, because it cannot be found by itself\nhelp: write `part = admin` here and `parts(admin)` on the main block";
        errors.report(path, message);
    }
}

pub(super) fn parts_are_named_once(toolset: &Toolset, errors: &mut Errors) {
    let mut seen: Vec<&proc_macro2::Ident> = Vec::new();
    for part in &toolset.options.parts {
        if seen.contains(&part) {
            errors.report(part, format!("part `{part}` is named twice\nhelp: remove one of them"));
        }
        seen.push(part);
    }
}

/// `#[setup]` and `#[close]`: one each, on the main block, with nothing but `&self`.
pub(super) fn lifecycle(toolset: &Toolset, errors: &mut Errors) {
    for (name, functions) in [("setup", &toolset.setup), ("close", &toolset.close)] {
        for function in functions {
            one_lifecycle(toolset, name, function, errors);
        }
        if let Some(again) = functions.get(1) {
            errors
                .report(again.ident(), format!("a toolset has one `#[{name}]` method\nhelp: call the others from it"));
        }
    }
}

fn one_lifecycle(toolset: &Toolset, name: &str, function: &Function, errors: &mut Errors) {
    if toolset.options.part.is_some() {
        errors.report(function.ident(), format!("`#[{name}]` belongs on the toolset's main block\nhelp: move the method to the `#[toolset]` without `part`"));
    }
    if let Some(tool) = function.attrs.iter().find(|attr| is(attr, "tool")) {
        errors.report(tool, format!("a `#[{name}]` method is no tool: the runtime calls it, not the model\nhelp: remove one of the two attributes"));
    }
    let is_shared = function.sig.receiver().is_some_and(super::signature::is_shared);
    if !is_shared || function.sig.inputs.len() != 1 {
        let message = format!(
            "a `#[{name}]` method takes `&self` and nothing else\nhelp: keep what it needs in the toolset, behind a lock where it changes"
        );
        errors.report(&function.sig.inputs, message);
    }
    if !function.sig.generics.params.is_empty() {
        errors.report(
            &function.sig.generics.params,
            format!("a `#[{name}]` method cannot be generic\nhelp: put the parameters on the type"),
        );
    }
}

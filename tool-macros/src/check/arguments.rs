//! The rules for parameters.

use super::signature::mentions_generics;
use crate::errors::Errors;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::PassingForm;
use crate::model::toolset::Tool;
use crate::names::nearest;
use crate::tokens::{mentions, mentions_self_value};
use syn::ext::IdentExt as _;
use syn::{FnArg, Generics, Pat};

/// The number of parameters that the decoder can track.
const MAX_PARAMETERS: usize = 128;

/// Refuses names and aliases that are used twice.
pub(super) fn unique_names(tool: &Tool, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for argument in tool
        .arguments()
        .filter(|argument| argument.flatten.is_none())
    {
        let aliases = argument
            .aliases
            .iter()
            .map(|alias| (alias.value(), alias.span()));
        let span = argument
            .renamed
            .as_ref()
            .map_or_else(|| argument.ident.span(), syn::LitStr::span);
        for (name, span) in [(argument.name.clone(), span)].into_iter().chain(aliases) {
            if name.is_empty() {
                errors.report_at(
                    span,
                    "the name of a parameter cannot be empty\nhelp: remove `name` to use the Rust name",
                );
            } else if seen.contains(&name) {
                errors.report_at(
                    span,
                    format!("parameter name `{name}` is already used\nhelp: rename one of them"),
                );
            }
            seen.push(name);
        }
    }
}

/// Refuses an `# Arguments` item for a parameter that does not exist.
pub(super) fn described_exist(tool: &Tool, errors: &mut Errors) {
    let inputs = tool.function.sig.inputs.iter();
    let names: Vec<String> = inputs
        .filter_map(|input| match input {
            FnArg::Typed(typed) => match &*typed.pat {
                Pat::Ident(pat) => Some(pat.ident.unraw().to_string()),
                _ => None,
            },
            FnArg::Receiver(_) => None,
        })
        .collect();
    for item in tool
        .described
        .iter()
        .filter(|item| !names.contains(&item.name))
    {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let name = &item.name;
        let function = tool.function.plain_name();
        let help = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove the line, or rename it".to_owned(),
        };
        let message = format!(
            "`# Arguments` describes `{name}`, which is not a parameter of `{function}`\nhelp: {help}"
        );
        errors.report_at(item.span, message);
    }
}

/// Refuses more parameters than the decoder can track.
pub(super) fn parameters_are_few(tool: &Tool, errors: &mut Errors) {
    if let Some(argument) = tool.arguments().nth(MAX_PARAMETERS) {
        errors.report(
            argument.ident,
            format!(
                "a tool takes at most {MAX_PARAMETERS} parameters\nhelp: group them into structs"
            ),
        );
    }
}

/// Refuses `self` in a default without an instance, and in examples.
pub(super) fn self_in_default(tool: &Tool, argument: &Argument, errors: &mut Errors) {
    if let DefaultValue::Instance(expr) = &argument.default
        && !tool.has_receiver()
    {
        let function = tool.function.plain_name();
        errors.report(
            expr,
            format!(
                "this default uses `self`, but `{function}` does not take `self`\nhelp: add `&self`, or use a constant"
            ),
        );
    }
    for example in argument
        .examples
        .iter()
        .filter(|example| mentions_self_value(example))
    {
        errors.report(
            example,
            "an example cannot use `self`, because it is the same for every instance\nhelp: write the value itself",
        );
    }
}

/// Refuses other options on a flattened parameter.
pub(super) fn flatten_stands_alone(argument: &Argument, errors: &mut Errors) {
    let Some(flatten) = &argument.flatten else {
        return;
    };
    for path in argument
        .written
        .iter()
        .filter(|path| !path.is_ident("flatten"))
    {
        let key = path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        errors.report(
            path,
            format!("`{key}` cannot be combined with `flatten`\nhelp: move it to the fields of the flattened type"),
        );
    }
    if matches!(
        argument.default,
        DefaultValue::OfType | DefaultValue::Computed(_)
    ) && argument.option("default").is_none()
    {
        errors.report(
            flatten,
            "`default` cannot be combined with `flatten`\nhelp: move it to the fields of the flattened type",
        );
    }
    if argument.passing.form.borrows_text() {
        errors.report(
            argument.ty,
            "`flatten` needs a struct or a map\nhelp: remove `flatten`",
        );
    }
}

/// Refuses options beside attributes that are left to the derives.
pub(super) fn derived_stands_alone(argument: &Argument, errors: &mut Errors) {
    if argument.derived.is_empty() {
        return;
    }
    for path in argument
        .written
        .iter()
        .filter(|path| !path.is_ident("description") && !path.is_ident("name"))
    {
        let key = path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        errors.report(path, format!("`{key}` cannot be combined with this parameter's `#[serde]` or `#[schemars]` attributes\nhelp: use those attributes instead, or define a type for the parameter"));
    }
    if argument.passing.form.borrows_text() && !matches!(argument.passing.form, PassingForm::Str) {
        errors.report(argument.ty, "a parameter with these `#[serde]` or `#[schemars]` attributes cannot borrow in this form\nhelp: take `&str`, `String` or `Vec<String>`");
    }
}

/// Refuses a parameter that is left to the derives and whose type has parameters of the block, which
/// the struct that is derived does not declare.
pub(super) fn derived_is_concrete(argument: &Argument, block: &Generics, errors: &mut Errors) {
    let is_generic = block.type_params().next().is_some() || block.const_params().next().is_some();
    let is_of_the_block =
        mentions_generics(argument.ty, block) || is_generic && mentions(argument.ty, "Self");
    if !argument.derived.is_empty() && is_of_the_block {
        errors.report(
            argument.ty,
            "a parameter with these `#[serde]` or `#[schemars]` attributes cannot have a generic type\nhelp: put the attributes on a field of a type of your own, and take that type",
        );
    }
}

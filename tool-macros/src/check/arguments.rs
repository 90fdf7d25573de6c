//! Rules about parameters, beside their limits.

use crate::errors::Errors;
use crate::model::Tool;
use crate::model::parameter::{Argument, Default};
use crate::names::nearest;
use crate::tokens::mentions;
use syn::ext::IdentExt as _;
use syn::{FnArg, Pat};

/// The run time keeps a bit for each.
const MOST: usize = 128;

/// A name means one parameter, aliases included.
pub(super) fn unique_names(tool: &Tool, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for argument in tool.arguments().filter(|argument| argument.flatten.is_none()) {
        let aliases = argument.aliases.iter().map(|alias| (alias.value(), alias.span()));
        let span = argument.renamed.as_ref().map_or_else(|| argument.ident.span(), syn::LitStr::span);
        for (name, span) in [(argument.name.clone(), span)].into_iter().chain(aliases) {
            if name.is_empty() {
                errors.report_at(
                    span,
                    "a parameter's name cannot be empty\nhelp: leave the option out to use the Rust name",
                );
            } else if seen.contains(&name) {
                errors.report_at(span, format!("parameter name `{name}` is already used\nhelp: rename one of them"));
            }
            seen.push(name);
        }
    }
}

/// An `# Arguments` list that names something else has gone stale.
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
    for item in tool.described.iter().filter(|item| !names.contains(&item.name)) {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let (name, function) = (&item.name, tool.function.plain_name());
        let help = match nearest(name, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove the line, or rename it".to_owned(),
        };
        let message = format!("`# Arguments` describes `{name}`, which is no parameter of `{function}`\nhelp: {help}");
        errors.report_at(item.span, message);
    }
}

pub(super) fn parameters_are_few(tool: &Tool, errors: &mut Errors) {
    if let Some(argument) = tool.arguments().nth(MOST) {
        errors.report(argument.ident, format!("a tool takes at most {MOST} parameters\nhelp: group them into structs"));
    }
}

/// `self` needs an instance, and one that lasts.
pub(super) fn self_in_default(tool: &Tool, argument: &Argument, errors: &mut Errors) {
    if let Default::Instance(expr) = &argument.default
        && !tool.has_receiver()
    {
        let function = tool.function.plain_name();
        errors.report(
            expr,
            format!("this default uses `self`, but `{function}` has none\nhelp: add `&self`, or use a constant"),
        );
    }
    for example in argument.examples.iter().filter(|example| mentions(example, "self")) {
        errors.report(
            example,
            "an example cannot use `self`, because it is the same for every instance\nhelp: write the value itself",
        );
    }
}

/// A flattened parameter has no name of its own, so nothing can be said of it.
pub(super) fn flatten_stands_alone(argument: &Argument, errors: &mut Errors) {
    let Some(flatten) = &argument.flatten else { return };
    for path in argument.written.iter().filter(|path| !path.is_ident("flatten")) {
        let key = path.get_ident().map(ToString::to_string).unwrap_or_default();
        errors.report(
            path,
            format!("`{key}` cannot be combined with `flatten`\nhelp: say it on the fields of the flattened type"),
        );
    }
    if matches!(argument.default, Default::OfType | Default::Computed(_)) && argument.option("default").is_none() {
        errors.report(
            flatten,
            "`default` cannot be combined with `flatten`\nhelp: say it on the fields of the flattened type",
        );
    }
    if argument.lend.borrows_text() {
        errors.report(argument.ty, "a flattened parameter is a struct or a map\nhelp: remove `flatten`");
    }
}

/// What only the derives understand, they must have to themselves.
pub(super) fn derived_stands_alone(argument: &Argument, errors: &mut Errors) {
    if argument.derived.is_empty() {
        return;
    }
    for path in argument.written.iter().filter(|path| !path.is_ident("description") && !path.is_ident("name")) {
        let key = path.get_ident().map(ToString::to_string).unwrap_or_default();
        errors.report(path, format!("`{key}` cannot be combined with this parameter's `#[serde]` or `#[schemars]` attributes\nhelp: say it in those attributes, or in a type of its own"));
    }
    if argument.lend.borrows_text()
        && !matches!(argument.lend, crate::model::lend::Lend::Str | crate::model::lend::Lend::OptionStr)
    {
        errors.report(argument.ty, "a parameter with such `#[serde]` or `#[schemars]` attributes cannot be lent in this form\nhelp: take `&str`, `String` or `Vec<String>`");
    }
}

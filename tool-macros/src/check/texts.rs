//! The rules for prompts and resources, whose arguments are texts.

use syn::{Error, LitStr};

use crate::attr::grammar::is;
use crate::attr::tool::ItemKind;
use crate::errors::Errors;
use crate::model::parameter::{Argument, DefaultValue};
use crate::model::passing::{PassingForm, argument_of, ungrouped_type};
use crate::model::toolset::{Tool, Toolset};
use crate::tokens::compact;
use crate::uri;

/// Checks a prompt or a resource.
pub(super) fn check(tool: &Tool, errors: &mut Errors) {
    for argument in tool.arguments() {
        takes_text(tool, argument, errors);
        is_not_flattened(tool, argument, errors);
    }
    match (tool.kind, &tool.options.uri) {
        (ItemKind::Resource, Some(uri)) => variables_are_parameters(tool, uri, errors),
        (ItemKind::Resource, None) => {
            errors.report(
                tool.ident(),
                "`#[resource]` needs a `uri`\nhelp: write `#[resource(uri = \"notes://{id}\")]`, where `id` is a parameter",
            );
        }
        (ItemKind::Tool | ItemKind::Prompt, _) => {}
    }
}

/// Refuses `complete` on a parameter of a tool.
pub(super) fn completes_only_texts(argument: &Argument, errors: &mut Errors) {
    if let Some(path) = argument.option("complete") {
        let message = "`complete` is an option of prompts and resources, as no person types the arguments of a tool\nhelp: remove `complete`";
        errors.report(path, message);
    }
}

/// Refuses lists, which no text can become. The types of the generated code decide about others.
fn takes_text(tool: &Tool, argument: &Argument, errors: &mut Errors) {
    let is_list = match argument.passing.form {
        PassingForm::Slice(_) | PassingForm::StrSlice | PassingForm::StrVec => true,
        _ => {
            let path = match ungrouped_type(argument.ty) {
                syn::Type::Path(path) => Some(&path.path),
                _ => None,
            };
            let lists = [
                "Vec", "VecDeque", "HashSet", "BTreeSet", "HashMap", "BTreeMap",
            ];
            path.is_some_and(|path| lists.iter().any(|list| argument_of(path, list).is_some()))
        }
    };
    if is_list {
        let shown = compact(argument.ty);
        let noun = tool.kind.name();
        let message = format!(
            "`{shown}` cannot be a parameter of a {noun}, because its arguments are texts\nhelp: take a `String` and split it in the body"
        );
        errors.report(argument.ty, message);
    }
}

/// Refuses `flatten`, as the arguments have no structure.
fn is_not_flattened(tool: &Tool, argument: &Argument, errors: &mut Errors) {
    if let Some(flatten) = &argument.flatten {
        let noun = tool.kind.name();
        let message = format!(
            "a {noun} has no `flatten`, because its arguments are texts\nhelp: take each field as a parameter"
        );
        errors.report(flatten, message);
    }
}

/// Compares the variables of the URI with the parameters, by name.
fn variables_are_parameters(tool: &Tool, uri: &LitStr, errors: &mut Errors) {
    let variables = match uri::variables(&uri.value()) {
        Ok(variables) => variables,
        Err(problem) => {
            let shown = uri.value();
            errors.report(
                uri,
                format!(
                    "invalid URI template `{}`: {problem}\nhelp: write a URI such as `notes://{{id}}`",
                    shown.escape_debug()
                ),
            );
            return;
        }
    };
    let function = tool.function.plain_name();
    for name in &variables {
        if tool.arguments().all(|argument| argument.name != *name) {
            let message = format!(
                "the URI has the variable `{name}`, which is not a parameter of `{function}`\nhelp: add the parameter `{name}`, or remove `{{{name}}}`"
            );
            errors.report(uri, message);
        }
    }
    for argument in tool.arguments() {
        let name = &argument.name;
        if !variables.contains(name) {
            let message = format!(
                "the parameter `{name}` is not a variable of the URI\nhelp: add `{{{name}}}` to `uri`, or remove the parameter"
            );
            errors.report(argument.ident, message);
        } else if !matches!(argument.default, DefaultValue::None) {
            let message = format!(
                "a variable of a URI always has a value\nhelp: remove the default of `{name}`"
            );
            errors.report(
                argument.option("default").map_or_else(
                    || quote::ToTokens::to_token_stream(argument.ident),
                    quote::ToTokens::to_token_stream,
                ),
                message,
            );
        }
    }
}

/// Refuses a method with two of `#[tool]`, `#[prompt]` and `#[resource]`.
pub(super) fn is_one_kind(toolset: &Toolset, errors: &mut Errors) {
    for (at, tool) in toolset.tools.iter().enumerate() {
        if toolset
            .tools
            .iter()
            .take(at)
            .any(|other| std::ptr::eq(other.function, tool.function))
        {
            let attr = tool
                .function
                .attrs
                .iter()
                .find(|attr| is(attr, tool.kind.name()));
            let first = toolset
                .tools
                .iter()
                .find(|other| std::ptr::eq(other.function, tool.function));
            let first = first.map_or("#[tool]", |first| first.kind.shown());
            let message = format!(
                "`{}` on a method that has `{first}`\nhelp: write two methods that call a third one",
                tool.kind.shown()
            );
            errors.report(attr, message);
        }
    }
}

/// Refuses two resources of one URI.
pub(super) fn unique_uris(toolset: &Toolset, errors: &mut Errors) {
    let mut seen: Vec<(&LitStr, bool)> = Vec::new();
    for tool in &toolset.tools {
        let Some(uri) = &tool.options.uri else {
            continue;
        };
        let conditional = tool.function.is_conditional();
        if let Some((first, _)) = seen.iter().find(|(other, other_conditional)| {
            other.value() == uri.value() && !(conditional && *other_conditional)
        }) {
            errors.report(
                uri,
                format!(
                    "duplicate URI `{}` in this block\nhelp: change one",
                    uri.value()
                ),
            );
            errors.push(Error::new(first.span(), "first used here"));
        }
        seen.push((uri, conditional));
    }
}

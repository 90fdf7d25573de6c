//! The rules for one tool, those for its options among them.

use quote::ToTokens as _;
use std::path::Path;

use super::{arguments, limits, signature, texts};
use crate::attr::tool::Confirm;
use crate::attr::tool::ItemKind;
use crate::errors::Errors;
use crate::model::parameter::ModelText;
use crate::model::toolset::{SpannedName, Tool};
use crate::names::is_tool_name;

/// The note under an invalid name.
pub(super) const NAME_NOTE: &str =
    "note: names have 1 to 64 characters of `A-Z a-z 0-9 _ -` and begin with a letter or `_`";

/// Checks a tool that is a free function.
pub(crate) fn check_function(tool: &Tool, errors: &mut Errors) {
    if signature::is_free(tool, errors) {
        check_tool(tool, None, errors);
    }
}

/// Checks a tool of a block or a free function.
pub(super) fn check_tool(tool: &Tool, prefix: Option<&str>, errors: &mut Errors) {
    signature::receiver_is_shared(tool, errors);
    signature::is_not_generic(tool, errors);
    signature::is_plainly_callable(tool, errors);
    tool_name(tool, prefix, errors);
    has_description(tool, errors);
    retrieval_is_harmless(tool, errors);
    retries_have_no_effects(tool, errors);
    blocking_is_sync(tool, errors);
    timeout_can_interrupt(tool, errors);
    guide_exists(tool, errors);
    self_in_confirm(tool, errors);
    ask_each_time_asks(tool, errors);
    arguments::unique_names(tool, errors);
    arguments::described_exist(tool, errors);
    arguments::parameters_are_few(tool, errors);
    if tool.kind != ItemKind::Tool {
        texts::check(tool, errors);
    }
    for argument in tool.arguments() {
        if tool.kind == ItemKind::Tool {
            texts::completes_only_texts(argument, errors);
        }
        arguments::self_in_default(tool, argument, errors);
        arguments::flatten_stands_alone(argument, errors);
        arguments::derived_stands_alone(argument, errors);
        limits::fit_the_type(argument, errors);
        limits::admit_the_literals(argument, errors);
        limits::admit_the_default(argument, errors);
    }
}

/// Requires a description.
fn has_description(tool: &Tool, errors: &mut Errors) {
    let missing = match &tool.description {
        None => true,
        Some(ModelText::Literal(text)) => text.trim().is_empty(),
        Some(ModelText::Expr(_) | ModelText::Docs { .. }) => false,
    };
    if missing {
        let name = tool.function.plain_name();
        let noun = tool.kind.name();
        let reader = if tool.kind == ItemKind::Tool {
            "the model chooses"
        } else {
            "people choose"
        };
        let message = format!(
            "{noun} `{name}` has no description\nhelp: add a `///` comment, by which {reader} the {noun}"
        );
        errors.report(tool.ident(), message);
    }
}

/// Refuses a retrieval tool that is destructive.
fn retrieval_is_harmless(tool: &Tool, errors: &mut Errors) {
    let retrieves = tool.options.category == Some("retrieval");
    if let Some(path) = tool.options.flag("destructive").filter(|_| retrieves) {
        let message = "a `retrieval` tool cannot be `destructive`\nhelp: change the category to `action`, or remove `destructive`";
        errors.report(path, message);
    }
}

/// Refuses `retries` of a tool whose calls may have further effects when they are repeated.
fn retries_have_no_effects(tool: &Tool, errors: &mut Errors) {
    let options = &tool.options;
    let may_retry = options.category == Some("retrieval") || options.flag("idempotent").is_some();
    if may_retry {
        return;
    }
    if let Some(number) = options
        .numbers
        .iter()
        .find(|number| number.name == "retries")
    {
        let message = "`retries` needs a tool that can be called again without further effects\nhelp: add `idempotent` or `category = \"retrieval\"` if that is so, or remove `retries`";
        errors.report(&number.written, message);
    }
}

/// Refuses `blocking` on an async function.
fn blocking_is_sync(tool: &Tool, errors: &mut Errors) {
    if let Some(path) = tool
        .options
        .flag("blocking")
        .filter(|_| tool.function.sig.asyncness.is_some())
    {
        let message = "`async` functions cannot be `blocking`\nhelp: remove `async`, or move the blocking work to a separate function";
        errors.report(path, message);
    }
}

/// Refuses `timeout` on a function that nothing can interrupt: one that is neither async nor
/// `blocking`, and returns no stream.
fn timeout_can_interrupt(tool: &Tool, errors: &mut Errors) {
    let signature = &tool.function.sig;
    let Some(timeout) = tool
        .options
        .time("timeout")
        .filter(|_| signature.asyncness.is_none())
    else {
        return;
    };
    let returns_stream = signature
        .output
        .to_token_stream()
        .to_string()
        .contains("Stream");
    if tool.options.flag("blocking").is_none() && !returns_stream {
        let message = "`timeout` cannot interrupt a function that is not `async`\nhelp: add `blocking`, so that it runs on a thread of its own, or make it `async`";
        errors.report(&timeout.written, message);
    }
}

/// Refuses `self` in `confirm` without an instance.
fn self_in_confirm(tool: &Tool, errors: &mut Errors) {
    if let Some(Confirm::Instance(expr)) = &tool.options.confirm
        && !tool.has_receiver()
    {
        let function = tool.function.plain_name();
        let problem = format!("`confirm` uses `self`, but `{function}` does not take `self`");
        errors.report(
            expr,
            format!("{problem}\nhelp: add `&self`, or use a function of the arguments"),
        );
    }
}

/// Refuses `ask_each_time` on a tool that asks no one.
fn ask_each_time_asks(tool: &Tool, errors: &mut Errors) {
    if let Some(path) = tool.options.flag("ask_each_time")
        && tool.options.confirm.is_none()
    {
        let message = "`ask_each_time` has no effect without `confirm`\nhelp: add `confirm`, or remove `ask_each_time`";
        errors.report(path, message);
    }
}

/// Refuses `crate` on a method, as the block gives it.
pub(super) fn crate_is_of_the_block(tool: &Tool, errors: &mut Errors) {
    if let Some(path) = &tool.options.krate {
        errors.report(
            path,
            "`crate` is an option of the block\nhelp: move it to `#[toolset(crate = ..)]`",
        );
    }
}

/// Refuses a guide that cannot be read or is empty.
fn guide_exists(tool: &Tool, errors: &mut Errors) {
    let Some(guide) = &tool.options.guide else {
        return;
    };
    let Some(root) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        return;
    };
    let path = Path::new(&root).join(guide.value());
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => {}
        Ok(_) => errors.report(
            guide,
            "the guide is empty\nhelp: write the guide, or remove `guide`",
        ),
        Err(error) => {
            let shown = guide.value();
            errors.report(
                guide,
                format!(
                    "cannot read the guide `{shown}`: {error}\nhelp: the path is relative to the directory of `Cargo.toml`"
                ),
            );
        }
    }
}

/// Checks the name of a tool, with its prefix.
fn tool_name(tool: &Tool, prefix: Option<&str>, errors: &mut Errors) {
    let SpannedName { text, span } = &tool.name;
    if !is_tool_name(text) {
        let noun = tool.kind.name();
        let help = format!("\nhelp: set a name with `#[{noun}(name = \"...\")]`");
        let help = if tool.options.name.is_some() {
            ""
        } else {
            &help
        };
        errors.report_at(
            *span,
            format!("invalid {noun} name `{text}`\n{NAME_NOTE}{help}"),
        );
        return;
    }
    if let Some(prefix) = prefix.filter(|prefix| is_tool_name(prefix)) {
        let whole = format!("{prefix}_{text}");
        if !is_tool_name(&whole) {
            let length = whole.len();
            errors.report_at(
                *span,
                format!(
                    "{} name `{whole}` has {length} characters with its prefix\n{NAME_NOTE}",
                    tool.kind.name()
                ),
            );
        }
    }
}

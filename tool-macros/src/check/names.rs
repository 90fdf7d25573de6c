//! Rules about names.

use syn::Error;

use crate::attr::toolset::Prefix;
use crate::errors::Errors;
use crate::model::{Name, Tool, Toolset};
use crate::names::{is_tool_name, normalised};

const SHAPE: &str = "note: names are 1-64 of `A-Z a-z 0-9 _ -` and begin with a letter or `_`";

pub(super) fn prefix(toolset: &Toolset) -> Option<String> {
    toolset.options.prefix.as_ref().map(|prefix| match prefix {
        Prefix::Name => toolset.name.text.clone(),
        Prefix::Text(text) => text.value(),
    })
}

pub(super) fn toolset_name(toolset: &Toolset, errors: &mut Errors) {
    let Name { text, span } = &toolset.name;
    if !is_tool_name(text) {
        errors.report_at(*span, format!("invalid toolset name `{text}`\n{SHAPE}"));
    }
    if let Some(Prefix::Text(prefix)) = &toolset.options.prefix
        && !is_tool_name(&prefix.value())
    {
        let text = prefix.value();
        errors.report(prefix, format!("invalid prefix `{text}`\n{SHAPE}"));
    }
}

pub(super) fn tool_name(tool: &Tool, prefix: Option<&str>, errors: &mut Errors) {
    let Name { text, span } = &tool.name;
    if !is_tool_name(text) {
        let help = if tool.options.name.is_some() { "" } else { "\nhelp: give it another: `#[tool(name = \"...\")]`" };
        errors.report_at(*span, format!("invalid tool name `{text}`\n{SHAPE}{help}"));
        return;
    }
    if let Some(prefix) = prefix.filter(|prefix| is_tool_name(prefix)) {
        let whole = format!("{prefix}_{text}");
        if !is_tool_name(&whole) {
            let length = whole.len();
            errors
                .report_at(*span, format!("tool name `{whole}` is {length} characters long with its prefix\n{SHAPE}"));
        }
    }
}

/// Two tools of one name, or of names that some provider would confuse. Conditional methods may share a name: at most one
/// of them is there.
pub(super) fn unique_tools(toolset: &Toolset, errors: &mut Errors) {
    for (index, tool) in toolset.tools.iter().enumerate() {
        let earlier = toolset.tools.iter().take(index).find(|other| {
            let conditional = other.function.is_conditional() && tool.function.is_conditional();
            normalised(&other.name.text) == normalised(&tool.name.text) && !conditional
        });
        let Some(earlier) = earlier else { continue };
        let (name, first, function) = (&tool.name.text, &earlier.name.text, earlier.ident());
        let message = if name == first {
            format!(
                "tool name `{name}` is already used by `{function}` in this block\nhelp: rename one: `#[tool(name = \"...\")]`"
            )
        } else {
            format!(
                "tool name `{name}` collides with `{first}` of `{function}` in this block\nhelp: rename one; names are compared in lower case, with `-` read as `_`"
            )
        };
        errors.report_at(tool.name.span, message);
        errors.push(Error::new(earlier.name.span, "first used here"));
    }
}

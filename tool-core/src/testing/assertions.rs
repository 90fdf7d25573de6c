//! Assertions about the tools of a context and of the program.

use crate::arguments::problem::nearest;
use crate::registry::ToolContext;
use crate::registry::discovery::Registry;
use crate::tool::definition::ToolDefinition;

/// Asserts that a context has exactly these function tools, in any order.
///
/// ```
/// use tool_core::{ToolContext, testing, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(add).build()?;
/// testing::assert_tools(&tools, &["add"]);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
///
/// # Panics
///
/// Panics with all missing and unexpected tools.
#[track_caller]
pub fn assert_tools(tools: &ToolContext, names: &[&str]) {
    let there = tools
        .definitions()
        .map(|tool| ToolDefinition::name(tool).to_owned())
        .collect::<Vec<_>>();
    let missing = missing(&there, names);
    let unexpected = there
        .iter()
        .filter(|name| !names.contains(&name.as_str()))
        .map(|name| format!("`{name}`"));
    let unexpected = unexpected.collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if !missing.is_empty() {
        lines.push(format!("missing tools: {missing}"));
    }
    if !unexpected.is_empty() {
        lines.push(format!("unexpected tools: {unexpected}"));
    }
    if !missing.is_empty() {
        lines.push(NOT_LINKED.to_owned());
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// Asserts that tools of these names are linked into this program, including those of toolsets that
/// must be configured. There may be others.
///
/// A crate that no code names is not linked, and its tools are missing without an error. This
/// assertion finds that.
///
/// ```standalone_crate
/// use tool_core::{testing, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// testing::assert_linked(&["add"]);
/// ```
///
/// # Panics
///
/// Panics with the missing tools and a fix, or with all problems of the registry.
#[track_caller]
pub fn assert_linked(names: &[&str]) {
    let registry = match Registry::discover() {
        Ok(registry) => registry,
        Err(errors) => panic!("the linked tools are invalid:\n{errors}"),
    };
    let toolsets = registry.actions();
    let there = toolsets
        .into_iter()
        .flat_map(|toolset| toolset.actions)
        .map(|action| action.name)
        .collect::<Vec<_>>();
    let missing = missing(&there, names);
    assert!(
        missing.is_empty(),
        "tools that are not linked: {missing}\n{NOT_LINKED}"
    );
}

const NOT_LINKED: &str = "help: a crate that no code names is not linked, and its tools are absent; name it: `use my_tools as _;`";

/// Lists the missing names, each with the most similar name.
fn missing(there: &[String], names: &[&str]) -> String {
    let absent = names
        .iter()
        .filter(|name| !there.iter().any(|known| known == *name));
    let lines = absent.map(
        |name| match nearest(name, there.iter().map(String::as_str)) {
            Some(near) => format!("`{name}` (did you mean `{near}`?)"),
            None => format!("`{name}`"),
        },
    );
    lines.collect::<Vec<_>>().join(", ")
}

//! The rules, one function each. They look at the model and report; they change nothing.

mod agent;
mod arguments;
mod limits;
mod names;
mod options;
mod signature;
mod toolset;

use crate::errors::Errors;
use crate::input::Function;
use crate::model::{Tool, Toolset};

/// Every rule for a block.
pub(crate) fn toolset(toolset: &Toolset, errors: &mut Errors) {
    toolset::is_inherent(toolset, errors);
    toolset::has_a_name(toolset, errors);
    toolset::has_no_lifetimes(toolset, errors);
    toolset::has_tools(toolset, errors);
    toolset::part_is_only_a_part(toolset, errors);
    toolset::parts_are_named_once(toolset, errors);
    toolset::lifecycle(toolset, errors);
    names::toolset_name(toolset, errors);
    names::unique_tools(toolset, errors);
    let prefix = names::prefix(toolset);
    for tool in &toolset.tools {
        options::crate_is_of_the_block(tool, errors);
        check_tool(tool, prefix.as_deref(), errors);
    }
}

/// Every rule for a free fn.
pub(crate) fn function(tool: &Tool, errors: &mut Errors) {
    if signature::is_free(tool, errors) {
        check_tool(tool, None, errors);
    }
}

/// Every rule for an agent.
pub(crate) fn agent(function: &Function, errors: &mut Errors) {
    agent::has_a_body(function, errors);
    agent::runs(function, errors);
    agent::is_one(function, errors);
}

fn check_tool(tool: &Tool, prefix: Option<&str>, errors: &mut Errors) {
    signature::receiver_is_shared(tool, errors);
    signature::is_not_generic(tool, errors);
    signature::is_plainly_callable(tool, errors);
    names::tool_name(tool, prefix, errors);
    options::has_description(tool, errors);
    options::retrieval_is_harmless(tool, errors);
    options::blocking_is_sync(tool, errors);
    options::guide_exists(tool, errors);
    arguments::unique_names(tool, errors);
    arguments::described_exist(tool, errors);
    arguments::parameters_are_few(tool, errors);
    for argument in tool.arguments() {
        arguments::self_in_default(tool, argument, errors);
        arguments::flatten_stands_alone(argument, errors);
        arguments::derived_stands_alone(argument, errors);
        limits::fit_the_type(argument, errors);
        limits::admit_the_literals(argument, errors);
        limits::admit_the_default(argument, errors);
    }
}

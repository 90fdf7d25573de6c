//! The actions of a toolset's type, before there is a value of it.

use super::Action;
use crate::__private::{DefaultValue, Linked, ToolFacts};
use crate::tool::ToolDefinition;

/// What a type's values can do. A default that an instance decides is not known here; its parameter is optional all the
/// same.
pub(crate) fn of_type(linked: &Linked) -> Vec<Action> {
    (linked.tools)().into_iter().map(|facts| action(facts, linked.facts.prefix)).collect()
}

fn action(facts: &ToolFacts, prefix: Option<&str>) -> Action {
    let mut action = Action::of(&ToolDefinition::of_facts(facts, &[], prefix));
    let decided_later = facts.parameters.iter().filter(|row| matches!(row.default, DefaultValue::Instance));
    for row in decided_later {
        if let Some(parameter) = action.parameters.iter_mut().find(|parameter| parameter.name == row.name) {
            parameter.required = false;
        }
    }
    action
}

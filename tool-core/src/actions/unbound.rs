//! The actions of a toolset's type, before there is a value of it.

use super::Action;
use crate::__private::{Call, DefaultValue, Registration, Rejected, Started, ToolSpec, ToolsetMethods};
use crate::response::ToolError;
use crate::tool::{Definition, ToolDefinition};
use std::sync::Arc;

/// What `T` can do. A default that an instance decides is not known here; its parameter is optional all the same.
pub(crate) fn of_type<T: ToolsetMethods>() -> Vec<Action> {
    let toolset = T::TOOLSET;
    let named = toolset.parts.iter().flat_map(|part| part());
    let all = toolset.tools.iter().chain(named).chain(Registration::parts_of::<T>());
    all.map(|spec| action(spec, toolset.prefix)).collect()
}

fn action<T>(spec: &ToolSpec<T>, prefix: Option<&str>) -> Action {
    let name = prefix.map_or_else(|| spec.name.into(), |prefix| format!("{prefix}_{}", spec.name).into());
    let mut action = Action::of(&ToolDefinition { name, body: Arc::new(Definition::of_spec(&unbound(spec), &())) });
    let decided_later = spec.parameters.iter().filter(|row| matches!(row.default, DefaultValue::Instance));
    for row in decided_later {
        if let Some(parameter) = action.parameters.iter_mut().find(|parameter| parameter.name == row.name) {
            parameter.required = false;
        }
    }
    action
}

/// The same description, of nothing that could be called.
fn unbound<T>(spec: &ToolSpec<T>) -> ToolSpec<()> {
    let blank = ToolSpec::new(spec.name, spec.description, nothing_to_call, spec.parameters);
    ToolSpec { place: spec.place, title: spec.title, returns: spec.returns, ..blank }
}

fn nothing_to_call<'a>((): &'a (), _: Call<'a>) -> Started<'a> {
    Err(Rejected::Context(ToolError::internal("a description was called")))
}

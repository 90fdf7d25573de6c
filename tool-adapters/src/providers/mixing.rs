//! The provider tools that are declared beside the function tools.

use crate::providers::declarations::DeclareOptions;
use crate::providers::provider::Provider;
use crate::providers::report::Skipped;
use crate::providers::spec::ToolListForm;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use tool_core::ProviderTool;

/// The provider tools of a request.
#[derive(Default)]
pub(crate) struct MixedTools {
    /// The configurations to declare, with the ids of the tools.
    chosen: Vec<(String, Value)>,
    /// The names of their calls that function tools answer.
    answered: HashSet<String>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) warnings: Vec<String>,
}

/// Chooses among the provider tools of a request. `has_functions` is true if the request has function tools.
pub(crate) fn choose_provider_tools(
    provider: Provider,
    has_functions: bool,
    tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> MixedTools {
    let form = provider.spec().tool_list;
    let mut mixed = MixedTools::default();
    let only_functions = has_functions && options.only_single_type && form != ToolListForm::Flat;
    for tool in tools {
        if only_functions {
            mixed.skip(tool.id(), "`only_single_type` is set, and the request has function tools");
        } else if let Some(config) = tool.config(&provider.id()) {
            mixed.chosen.push((tool.id().to_owned(), config));
            mixed.answered.extend(tool.answered_here().into_iter().map(str::to_owned));
        } else {
            mixed.skip(tool.id(), &format!("it is not a tool of {provider}"));
        }
    }
    match form {
        ToolListForm::Grouped if has_functions && !options.model_mixes => mixed.skip_all(provider),
        ToolListForm::Merged => mixed.skip_conflicting(),
        _ => {}
    }
    mixed
}

impl MixedTools {
    fn skip(&mut self, id: &str, reason: &str) {
        self.skipped.push(Skipped { id: id.to_owned(), reason: reason.to_owned() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.chosen.len()
    }

    pub(crate) fn configs(&self) -> impl Iterator<Item = &Value> {
        self.chosen.iter().map(|(_, config)| config)
    }

    /// Returns true for a function tool that answers the calls of a provider tool: it has no declaration of its own.
    pub(crate) fn declares(&self, function: &str) -> bool {
        self.answered.contains(function)
    }

    /// Returns the names of the tools' calls, which no other function tool may have.
    pub(crate) fn names(&self) -> HashSet<String> {
        let name = |config: &Value| config.get("name").and_then(Value::as_str).map(str::to_owned);
        let nested = |config: &Value| ["function", "custom"].iter().find_map(|kind| name(config.get(*kind)?));
        let names = self.configs().filter_map(|config| name(config).or_else(|| nested(config)));
        names.chain(self.answered.iter().cloned()).collect()
    }

    /// Leaves out all tools, for a model that may refuse them beside function tools.
    fn skip_all(&mut self, provider: Provider) {
        let chosen = std::mem::take(&mut self.chosen);
        self.answered.clear();
        if chosen.is_empty() {
            return;
        }
        let ids = chosen.iter().map(|(id, _)| format!("`{}`", id.escape_debug())).collect::<Vec<_>>().join(", ");
        self.warnings.push(format!(
            "most models of {provider} do not accept function tools and provider tools in one request, so {ids} \
             {are} left out; set `model_mixes` for a model that accepts both",
            are = if chosen.len() == 1 { "is" } else { "are" },
        ));
        for (id, _) in chosen {
            self.skip(&id, "the model does not accept it beside function tools");
        }
    }

    /// Leaves out tools that cannot be members of one object with those before them.
    fn skip_conflicting(&mut self) {
        let mut taken = HashSet::from(["functionDeclarations".to_owned()]);
        for (id, config) in std::mem::take(&mut self.chosen) {
            let members = config.as_object().map(|config| config.keys().cloned().collect::<Vec<_>>());
            match members {
                Some(members) if members.iter().all(|member| !taken.contains(member)) => {
                    taken.extend(members);
                    self.chosen.push((id, config));
                }
                Some(_) => self.skip(&id, "another tool of its kind is declared"),
                None => self.skip(&id, "its configuration is not an object"),
            }
        }
    }
}

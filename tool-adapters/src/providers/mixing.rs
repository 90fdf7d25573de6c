//! Which provider tools are declared beside the function tools, and how.

use crate::providers::declare::DeclareOptions;
use crate::providers::provider::Provider;
use crate::providers::report::Skipped;
use serde_json::{Map, Value};
use std::collections::HashSet;
use tool_core::ProviderTool;

/// The provider tools of a request.
#[derive(Default)]
pub(crate) struct ProviderTools {
    /// What to declare, with the id of the tool.
    chosen: Vec<(String, Value)>,
    /// The names of the calls of theirs that function tools answer.
    answered: HashSet<String>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) warnings: Vec<String>,
}

/// Chooses among the provider tools of a context.
///
/// Whether there are function tools is all that it has to know of them, so nothing that becomes of those can come in
/// between.
pub(crate) fn choose<'a>(
    provider: Provider,
    functions: bool,
    tools: impl Iterator<Item = &'a dyn ProviderTool>,
    options: DeclareOptions,
) -> ProviderTools {
    let mut all = ProviderTools::default();
    // Decided before a tool is asked for anything.
    let one_kind = functions && options.only_single_type && (is_chat(provider) || provider == Provider::GeminiLive);
    for tool in tools {
        if one_kind {
            all.skip(tool.id(), "only one kind of tool is wanted, and there are function tools");
        } else if let Some(config) = tool.config(&provider.id()) {
            all.chosen.push((tool.id().to_owned(), config));
            all.answered.extend(tool.answered_here().into_iter().map(str::to_owned));
        } else {
            all.skip(tool.id(), &format!("it is not a tool of {provider}"));
        }
    }
    if functions && is_chat(provider) && !options.model_mixes {
        all.leave_out();
    }
    if provider == Provider::GeminiLive {
        all.keep_mergeable();
    }
    all
}

/// Gemini where a model may refuse a mixture; Live never does.
pub(crate) fn is_chat(provider: Provider) -> bool {
    matches!(provider, Provider::Gemini | Provider::GeminiJsonSchema)
}

impl ProviderTools {
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

    /// Whether the function tool of that name is what answers one of them: it is declared by that one's declaration.
    pub(crate) fn declares(&self, function: &str) -> bool {
        self.answered.contains(function)
    }

    /// The names by which the model calls them: no other function tool may have one of them.
    pub(crate) fn names(&self) -> HashSet<String> {
        let named = |config: &Value| config.get("name").and_then(Value::as_str).map(str::to_owned);
        let inner = |config: &Value| ["function", "custom"].iter().find_map(|kind| named(config.get(*kind)?));
        let called = self.configs().filter_map(|config| named(config).or_else(|| inner(config)));
        called.chain(self.answered.iter().cloned()).collect()
    }

    /// L31
    fn leave_out(&mut self) {
        let chosen = std::mem::take(&mut self.chosen);
        self.answered.clear();
        if chosen.is_empty() {
            return;
        }
        let ids = chosen.iter().map(|(id, _)| format!("`{}`", id.escape_debug())).collect::<Vec<_>>().join(", ");
        self.warnings.push(format!(
            "most Gemini models do not take function tools and provider tools in one request, so {ids} \
             {are} left out; where the model does, set `model_mixes`",
            are = if chosen.len() == 1 { "is" } else { "are" },
        ));
        for (id, _) in chosen {
            self.skip(&id, "the model does not take it beside function tools");
        }
    }

    /// Live has one object for all tools: each is a member of its own. L32
    fn keep_mergeable(&mut self) {
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

    /// The members of Live's object.
    pub(crate) fn merged(&self) -> Map<String, Value> {
        self.configs()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

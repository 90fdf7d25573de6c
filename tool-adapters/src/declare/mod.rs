//! Declarations: a context's tools in a provider's form, made once and kept as bytes.

mod assemble;
mod cache;
mod form;
mod list;
mod mixing;
mod names;
pub(crate) mod output;
#[cfg(test)]
mod tests;
mod text;

use crate::Provider;
use crate::report::Report;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use tool_core::{ProviderTool, ToolCall, ToolContext, ToolDefinition};

/// How tools are declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)] // each is a setting of its own
pub struct DeclareOptions {
    /// Whether tools are declared strict where they can be: the provider then holds the model to the schema. Strictness
    /// is computed for each tool; the report says why one is not.
    pub strict: bool,
    /// Gemini Live: with any function tool, no provider tools. L32
    pub only_single_type: bool,
    /// Gemini: the model takes function tools and provider tools in one request. L31
    pub model_mixes: bool,
}

/// Tools in a provider's form. Cheap to clone.
#[derive(Clone)]
pub struct Declarations(Arc<Inner>);

struct Inner {
    provider: Provider,
    /// The value of the request's `tools`.
    json: Box<RawValue>,
    settings: Map<String, Value>,
    names: names::Names,
    /// By the index of the tool among `definitions`.
    strict: Vec<bool>,
    definitions: Vec<ToolDefinition>,
    report: Report,
}

/// Declares the tools of a context to a provider.
///
/// Made once for a context; from then on a clone of what is kept.
///
/// ```
/// use tool_adapters::{Provider, declare};
/// use tool_core::{ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, #[arg(default)] b: i64) -> i64 {
///     a + b
/// }
///
/// let tools = ToolContext::builder().with(add).build()?;
/// let declared = declare(Provider::OpenAiChat, &tools);
/// assert!(declared.json().get().starts_with(r#"[{"type":"function","function":{"name":"add""#));
/// assert!(declared.report().tools[0].changes.is_empty());
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
pub fn declare(provider: Provider, tools: &ToolContext) -> Declarations {
    declare_with(provider, tools, DeclareOptions::default())
}

/// Like [`declare`], with options.
pub fn declare_with(provider: Provider, tools: &ToolContext, options: DeclareOptions) -> Declarations {
    tools.memo::<cache::Cache>().get_or_make(provider, options, || {
        declare_tools(provider, tools.definitions(), tools.provider_tools(), options)
    })
}

/// Declares tools that are not, or not all, of one context, such as those that a session shows. Not kept.
pub fn declare_tools<'a>(
    provider: Provider,
    tools: impl IntoIterator<Item = &'a ToolDefinition>,
    provider_tools: &[Arc<dyn ProviderTool>],
    options: DeclareOptions,
) -> Declarations {
    let definitions = tools.into_iter().cloned().collect::<Vec<_>>();
    Declarations(Arc::new(assemble::assemble(provider, definitions, provider_tools, options)))
}

impl Declarations {
    /// The provider.
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// The value of the request's `tools` (Bedrock: of `toolConfig.tools`): an array, in the order of the context.
    pub fn json(&self) -> &RawValue {
        &self.0.json
    }

    /// What the request has to say besides, such as Cohere's `strict_tools`; mostly nothing.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.0.settings
    }

    /// What was dropped, weakened, renamed and refused, tool by tool.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// Whether nothing is declared: some providers refuse an empty list.
    pub fn is_empty(&self) -> bool {
        self.json().get() == "[]"
    }

    /// The name that the provider knows a tool by; `None` where it is not declared.
    pub fn wire_name(&self, tool: &str) -> Option<&str> {
        self.0.names.wire(tool)
    }

    /// The name to write in a request for any tool: the one it is declared by or, for a tool that is not declared (any
    /// more), such as one of an older call in the history, the nearest that the provider takes.
    pub fn written_name<'a>(&'a self, tool: &'a str) -> Cow<'a, str> {
        match self.wire_name(tool) {
            Some(wire) => Cow::Borrowed(wire),
            None => names::NameRule::of(self.0.provider).nearest(tool),
        }
    }

    /// The tool that the provider knows by a name.
    pub fn tool_name(&self, wire: &str) -> Option<&str> {
        self.0.names.tool(wire)
    }

    /// A call as the tool knows it: under its own name, and in strict without the nulls that stand for what is absent.
    /// A name that is not declared stays, and so do arguments that are not JSON: the answer will say so.
    #[must_use]
    pub fn restore(&self, call: ToolCall) -> ToolCall {
        let Some(at) = self.0.names.position(call.name()) else { return call };
        let Some(tool) = self.0.definitions.get(at) else { return call };
        let strict = self.0.strict.get(at).copied().unwrap_or_default();
        let arguments = if strict {
            crate::schema::restore(tool.parameters(), call.arguments())
        } else {
            Cow::Borrowed(call.arguments())
        };
        match (arguments, tool.name() == call.name()) {
            (Cow::Borrowed(_), true) => call,
            (Cow::Borrowed(_), false) => call.renamed(tool.name()),
            (Cow::Owned(arguments), _) => call.with_arguments(arguments).renamed(tool.name()),
        }
    }

    /// Whether these are the declarations of the same tools under the same names, so that they need not be made again.
    pub fn of_same_tools(&self, tools: &[ToolDefinition]) -> bool {
        let ours = &self.0.definitions;
        ours.len() == tools.len() && ours.iter().zip(tools).all(|(a, b)| a.same(b))
    }
}

impl std::fmt::Debug for Declarations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the declarations: provider tools may hold secrets that are only for the provider.
        f.debug_struct("Declarations").field("report", self.report()).finish_non_exhaustive()
    }
}

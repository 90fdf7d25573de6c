//! The declarations of tools to a provider.

use crate::Provider;
use crate::report::Report;
use crate::schema::renames::PropertyRenames;
use crate::schema::restore::NullRules;
use crate::structured::DeclaredAnswer;
use crate::tool_names::{DeclaredNames, NameRule};
use foldhash::HashMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tool_core::session::Message;
use tool_core::text::json_in;
use tool_core::{ToolCall, ToolDefinition, ToolResponse};

/// The options of a declaration.
///
/// ```
/// use tool_adapters::{DeclareOptions, Provider, declare_with};
/// use tool_core::{ToolContext, tool};
///
/// /// Find articles.
/// #[tool]
/// fn search(query: &str, limit: Option<u8>) -> String {
///     format!("{limit:?} articles about {query}")
/// }
///
/// let tools = ToolContext::builder().with(search).build()?;
/// let strict = DeclareOptions { strict: true, ..DeclareOptions::default() };
/// let declared = declare_with(Provider::OpenAiChat, &tools, strict);
/// assert!(declared.report().tools[0].strict);
/// assert!(declared.json().get().contains(r#""required":["query","limit"]"#)); // null stands for an absent limit
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)] // The options are independent.
pub struct DeclareOptions {
    /// Declares tools as strict where possible, so that the provider enforces the schema. Each tool
    /// is checked by itself; the report has the reason for which one is not strict.
    pub strict: bool,
    /// Leaves out all provider tools in a request with function tools. For Gemini.
    pub only_single_type: bool,
    /// Declares function tools and provider tools in one request, for a Gemini model that accepts
    /// both.
    pub model_mixes: bool,
    /// Leaves the search over tools ([`Policy::search_tools`](tool_core::Policy::search_tools)) to a provider that has one:
    /// the tools to find are declared as deferred, so that the model does not read them, and the provider's search takes the
    /// place of `search_tools`. The declarations stay the same whatever is found, so a cached prompt stays valid. Anthropic
    /// and OpenAI's Responses have such a search; for others nothing changes. See [`declare_searchable`](crate::declare_searchable).
    pub defer: bool,
}

/// Tools in a provider's form. Cheap to clone.
///
/// ```
/// use tool_adapters::{Provider, declare};
/// use tool_core::serde_json::{Value, json};
/// use tool_core::{FunctionTool, RawTool, RunContext, ToolCall, ToolContext, ToolError};
///
/// async fn query(arguments: Value, _ctx: &RunContext) -> Result<Value, ToolError> {
///     Ok(arguments)
/// }
///
/// let declared = RawTool {
///     name: "reports.query".into(),
///     description: "Query the reports.".into(),
///     parameters: json!({"type": "object"}),
/// };
/// let tools = ToolContext::builder().with(FunctionTool::raw(declared, query)).build()?;
///
/// let declared = declare(Provider::OpenAiChat, &tools);
/// let body = json!({"model": "gpt-5", "messages": [], "tools": declared.json()}); // the body of a request
/// assert_eq!(body["tools"][0]["function"]["name"], "reports_query"); // OpenAI takes no dot
///
/// // The model calls the tool by that name.
/// let call = declared.restore(ToolCall::new("call_1", "reports_query", "{}"));
/// assert_eq!(call.name(), "reports.query");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone)]
pub struct Declarations(pub(crate) Arc<DeclaredTools>);

/// The content of [`Declarations`].
pub(crate) struct DeclaredTools {
    pub(crate) provider: Provider,
    pub(crate) options: DeclareOptions,
    /// The number of deferred tools, which are the last of the definitions.
    pub(crate) deferred: usize,
    /// True if a typed answer was to be asked for in the provider's form for structured output.
    pub(crate) structured: bool,
    /// The typed answer in that form.
    pub(crate) answer: Option<DeclaredAnswer>,
    /// The value of the request's `tools`.
    pub(crate) json: Box<RawValue>,
    pub(crate) settings: Map<String, Value>,
    pub(crate) name_rule: NameRule,
    pub(crate) names: DeclaredNames,
    pub(crate) definitions: Vec<ToolDefinition>,
    /// Those of the definitions.
    pub(crate) null_rules: Vec<NullRules>,
    /// The properties with other names, by the index of the definition. `None` without any.
    pub(crate) renames: Option<Box<HashMap<usize, Box<PropertyRenames>>>>,
    pub(crate) report: Report,
}

impl Declarations {
    /// Returns the provider.
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// Returns the value of the request's `tools`, for Bedrock that of `toolConfig.tools`: an array
    /// in the order of the context.
    pub fn json(&self) -> &RawValue {
        &self.0.json
    }

    /// Returns further members of the request, such as Cohere's `strict_tools`. Empty for most
    /// requests.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.0.settings
    }

    /// Returns the report on what was dropped, weakened, renamed and refused, tool by tool.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// Returns true if nothing is declared. Some providers refuse an empty list.
    pub fn is_empty(&self) -> bool {
        self.json().get() == "[]"
    }

    /// Returns the name of a tool at the provider; `None` for a tool that is not declared.
    pub fn wire_name(&self, tool: &str) -> Option<&str> {
        self.0.names.wire(tool)
    }

    /// Returns the name of any tool in a request: its name at the provider or, for a tool that is
    /// not declared (any more), such as one of an older call in the history, the nearest name that
    /// the provider accepts.
    pub fn written_name<'a>(&'a self, tool: &'a str) -> Cow<'a, str> {
        match self.wire_name(tool) {
            Some(wire) => Cow::Borrowed(wire),
            None => self.0.name_rule.nearest(tool),
        }
    }

    /// Returns the tool that has this name at the provider.
    pub fn tool_name(&self, wire: &str) -> Option<&str> {
        self.0.names.tool(wire)
    }

    /// Returns a call in the tool's own form: under its own name, with the tool's own names of
    /// properties, and for a strict tool without the nulls that stand for absent parameters. An
    /// unknown name stays, and so do arguments that are not JSON: the call then fails with a
    /// message for the model.
    pub fn restore(&self, call: ToolCall) -> ToolCall {
        let Some(index) = self.0.names.index(call.name()) else {
            return call;
        };
        let Some(tool) = self.0.definitions.get(index) else {
            return call;
        };
        let call = match self
            .renames(index)
            .map(|renames| renames.restore(call.arguments()))
        {
            Some(Cow::Owned(arguments)) => call.with_arguments(arguments),
            _ => call,
        };
        let rules = self.0.null_rules.get(index);
        let rules = rules.filter(|_| {
            self.0
                .report
                .tools
                .get(index)
                .is_some_and(|report| report.strict)
        });
        let call = match rules.map(|rules| rules.restore(tool.parameters(), call.arguments())) {
            Some(Cow::Owned(arguments)) => call.with_arguments(arguments),
            _ => call,
        };
        if tool.name() == call.name() {
            call
        } else {
            call.renamed(tool.name())
        }
    }

    /// Returns a typed answer, which came as a text in the provider's form, in the tool's own form.
    /// The answer is the JSON in the text, as [`json_in`] finds it. The text around it stays, and so
    /// does every other text.
    pub fn restore_answer(&self, mut text: String) -> String {
        let Some(answer) = &self.0.answer else {
            return text;
        };
        let Some(json) = json_in(&text) else {
            return text;
        };
        let call = self.restore(ToolCall::new("", answer.report.tool.as_str(), json));
        if call.arguments() == json {
            return text;
        }
        // The text before the answer may quote it.
        let start = json.as_ptr().addr() - text.as_ptr().addr();
        let end = start + json.len();
        text.replace_range(start..end, call.arguments());
        text
    }

    /// Returns the typed answer that the request asks for in the provider's form.
    pub fn answer(&self) -> Option<&DeclaredAnswer> {
        self.0.answer.as_ref()
    }

    /// Returns a response as the model reads it: an error names properties as the provider does.
    /// Other responses stay.
    ///
    /// For a host that writes results with [`Protocol::encode`](crate::Protocol::encode). Requests
    /// write their history so.
    pub fn written_response<'a>(&self, response: &'a ToolResponse) -> Cow<'a, ToolResponse> {
        let renamed = || {
            let renames = self.renames_of(response.meta().tool())?;
            let Cow::Owned(message) = renames.write_error(&response.error()?.message) else {
                return None;
            };
            let mut envelope = serde_json::to_value(response).ok()?;
            *envelope.pointer_mut("/error/message")? = message.into();
            serde_json::from_value(envelope).ok()
        };
        renamed().map_or(Cow::Borrowed(response), Cow::Owned)
    }

    /// Returns a history with the provider's names of properties in calls and errors; `None` if it
    /// has no other names.
    pub(crate) fn written_history(&self, history: &[Message]) -> Option<Vec<Message>> {
        self.0.renames.as_ref()?;
        Some(
            history
                .iter()
                .map(|message| self.written_message(message.clone()))
                .collect(),
        )
    }

    fn written_message(&self, mut message: Message) -> Message {
        match &mut message {
            Message::Assistant { calls, .. } => {
                for call in calls {
                    let renames = self.renames_of(call.name());
                    if let Some(Cow::Owned(arguments)) =
                        renames.map(|renames| renames.write(call.arguments()))
                    {
                        *call = call.clone().with_arguments(arguments);
                    }
                }
            }
            Message::Result { tool, result, .. } if result.is_error => {
                let renames = self.renames_of(tool);
                if let Some(Cow::Owned(text)) =
                    renames.map(|renames| renames.write_error(&result.text))
                {
                    result.text = text;
                }
            }
            _ => {}
        }
        message
    }

    fn renames_of(&self, tool: &str) -> Option<&PropertyRenames> {
        self.0.renames.as_ref()?;
        self.renames(self.0.names.index(self.wire_name(tool)?)?)
    }

    fn renames(&self, index: usize) -> Option<&PropertyRenames> {
        self.0
            .renames
            .as_ref()?
            .get(&index)
            .map(|renames| &**renames)
    }

    /// Returns true if these declarations are of the same tools, so that they can be used again.
    pub fn of_same_tools(&self, tools: &[ToolDefinition]) -> bool {
        let ours = &self.0.definitions;
        ours.len() == tools.len() && ours.iter().zip(tools).all(|(a, b)| a.same(b))
    }
}

impl fmt::Debug for Declarations {
    /// Shows the report only: the declarations of provider tools may hold secrets for the provider.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declarations")
            .field("report", self.report())
            .finish_non_exhaustive()
    }
}

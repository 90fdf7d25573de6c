//! The facts that a provider is set up with: instructions, tools and settings.

use crate::instructions::join_instructions;
use crate::websocket::model::{LiveModel, live_api};
use serde_json::{Map, Value};
use tool_adapters_providers::{Declarations, Protocol, Request, declare_tools};
use tool_core::session::{Message, RepairedMessages, ToolChoice};
use tool_core::{Session, ToolDefinition};

/// The tools that the provider knows.
pub(crate) struct DeclaredTools {
    names: Vec<String>,
    pub(crate) declarations: Declarations,
}

impl DeclaredTools {
    /// Declares the tools that the model may see now. `entering` hides those with
    /// `ignore_on_enter`.
    pub(crate) fn new(session: &Session, model: &LiveModel, entering: bool) -> Self {
        Self::of(&visible(session, entering), session, model)
    }

    fn of(tools: &[ToolDefinition], session: &Session, model: &LiveModel) -> Self {
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let provider_tools = session.tools().provider_tools();
        Self {
            names,
            declarations: declare_tools(
                model.provider,
                tools.iter(),
                provider_tools,
                model.declare,
            ),
        }
    }

    /// Declares the tools that the model may see now, if they are others than these.
    pub(crate) fn changed(
        &self,
        session: &Session,
        model: &LiveModel,
        entering: bool,
    ) -> Option<Self> {
        let tools = visible(session, entering);
        let is_same = tools
            .iter()
            .map(ToolDefinition::name)
            .eq(self.names.iter().map(String::as_str));
        if is_same {
            None
        } else {
            Some(Self::of(&tools, session, model))
        }
    }

    /// Writes the setup, or the messages of a history for it.
    pub(crate) fn write<T>(
        &self,
        session: &Session,
        model: &LiveModel,
        history: &[Message],
        write: impl FnOnce(&Request<'_>) -> T,
    ) -> T {
        let tools = session.instructions();
        let instructions = join_instructions(&model.transport.instructions, &tools);
        if !model.transport.instructions.is_empty() {
            session.observe_system_prompt(&instructions);
        }
        let repaired = RepairedMessages::of(history);
        if repaired.repairs.found_damage() {
            tracing::warn!(provider = %model.provider, "the history of a session was repaired: {}", repaired.repairs);
        }
        write(&Request {
            model: &model.model,
            instructions: &instructions,
            history: &repaired.messages,
            declarations: &self.declarations,
            tool_choice: ToolChoice::Auto,
            stream: true,
            max_tokens: None,
            extra: &model.extra,
        })
    }

    /// Writes the message that sets up the session.
    pub(crate) fn setup(
        &self,
        protocol: &dyn Protocol,
        session: &Session,
        model: &LiveModel,
        history: &[Message],
    ) -> Value {
        let mut setup = self.write(session, model, history, |request| protocol.request(request));
        if let Some(live) = live_api(model.provider) {
            if model.transport.transcripts {
                live.messages.transcribe(&mut setup);
            }
            if model.transport.background_tools {
                live.messages.run_in_background(&mut setup);
            }
        }
        setup
    }
}

fn visible(session: &Session, entering: bool) -> Vec<ToolDefinition> {
    let mut tools = session.definitions();
    tools.retain(|tool| !(entering && tool.flags().ignore_on_enter));
    tools
}

/// Moves the instructions among the settings of a model to its other instructions, so that none
/// replaces another.
pub(crate) fn merge_instructions(model: &mut LiveModel) {
    for name in live_api(model.provider).map_or(&[][..], |live| live.instruction_settings) {
        if let Some(text) = model.extra.get(*name).and_then(text_of) {
            model.transport.instructions =
                join_instructions(&text, &model.transport.instructions).into_owned();
            model.extra.remove(*name);
        }
    }
}

/// Returns the text of instructions; `None` if they have other parts.
fn text_of(instructions: &Value) -> Option<String> {
    let part = |part: &Map<String, Value>| {
        let text = part.get("text").and_then(Value::as_str).map(str::to_owned);
        text.filter(|_| part.len() == 1)
    };
    match instructions {
        Value::String(text) => Some(text.clone()),
        Value::Object(content) => match content.get("parts")? {
            Value::Array(parts) => {
                let texts = parts
                    .iter()
                    .map(|one| part(one.as_object()?))
                    .collect::<Option<Vec<_>>>()?;
                Some(texts.join("\n"))
            }
            Value::Object(one) => part(one),
            _ => None,
        },
        _ => None,
    }
}

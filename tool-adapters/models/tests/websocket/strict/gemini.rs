//! Gemini Live, by the reference of `BidiGenerateContent` (ai.google.dev/api/live) and the converters of Google's SDK for
//! the Gemini API (`_live_converters.py`), which leave out what only Vertex AI takes.

use crate::strict::Shape::{Any, Base64, Bool, List, Map, Number, Object, OneOf, Text};
use crate::strict::{Member, Shape, Verdict, items, optional, required, rule, text};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// The conversations that clients can resume, by their handles.
#[derive(Clone, Default)]
pub(crate) struct Conversations(Arc<Mutex<HashMap<String, Handle>>>);

#[derive(Clone)]
struct Handle {
    conversation: Arc<Mutex<Conversation>>,
    /// The position of the handle among those of its conversation.
    number: u64,
}

/// A conversation across its connections.
#[derive(Default)]
struct Conversation {
    model: String,
    handles: u64,
    calls: HashMap<String, Call>,
}

struct Call {
    name: String,
    state: CallState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    Open,
    /// Has the number of handles that the client had then. A conversation that is resumed with an earlier handle has lost
    /// the answer.
    Answered(u64),
    Withdrawn,
}

/// The state of one connection.
pub(crate) struct StrictGemini {
    conversations: Conversations,
    conversation: Arc<Mutex<Conversation>>,
    phase: Phase,
    manual_activity: bool,
    /// The functions that may be answered more than once.
    non_blocking: HashSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opened,
    /// The setup has arrived. The history of earlier conversations comes before other messages, if the flag is set.
    SetUp {
        history: bool,
    },
    History,
    Talk,
}

const BLOB: Shape = Object(&[required("mimeType", Text), required("data", Base64)]);

const CONTENT: Shape = Object(&[
    optional("role", OneOf(&["user", "model"])),
    required(
        "parts",
        List(&Object(&[
            optional("text", Text),
            optional("inlineData", BLOB),
            optional("thought", Bool),
            optional("thoughtSignature", Text),
            optional(
                "functionCall",
                Object(&[
                    optional("id", Text),
                    required("name", Text),
                    optional("args", Map),
                ]),
            ),
            optional("functionResponse", Object(FUNCTION_RESPONSE)),
        ])),
    ),
]);

const FUNCTION_RESPONSE: &[Member] = &[
    optional("id", Text),
    required("name", Text),
    required("response", Map),
    optional("parts", List(&Object(&[required("inlineData", BLOB)]))),
    optional("willContinue", Bool),
    optional("scheduling", OneOf(&["SILENT", "WHEN_IDLE", "INTERRUPT"])),
];

const FUNCTION_DECLARATION: Shape = Object(&[
    required("name", Text),
    required("description", Text),
    optional("behavior", OneOf(&["BLOCKING", "NON_BLOCKING"])),
    optional("parameters", Map),
    optional("parametersJsonSchema", Map),
    optional("response", Map),
    optional("responseJsonSchema", Map),
]);

const TOOL: Shape = Object(&[
    optional("functionDeclarations", List(&FUNCTION_DECLARATION)),
    optional("googleSearch", Map),
    optional("googleSearchRetrieval", Map),
    optional("googleMaps", Map),
    optional("codeExecution", Map),
    optional("computerUse", Map),
    optional("fileSearch", Map),
    optional("urlContext", Map),
    optional("mcpServers", List(&Map)),
]);

/// Without the members that Live does not support, such as `stopSequences` and `responseSchema`.
const GENERATION_CONFIG: Shape = Object(&[
    optional("candidateCount", Number),
    optional("maxOutputTokens", Number),
    optional("temperature", Number),
    optional("topP", Number),
    optional("topK", Number),
    optional("presencePenalty", Number),
    optional("frequencyPenalty", Number),
    optional("seed", Number),
    optional("responseModalities", List(&OneOf(&["TEXT", "AUDIO"]))),
    optional("speechConfig", Map),
    optional("mediaResolution", Text),
    optional("thinkingConfig", Map),
    optional("enableAffectiveDialog", Bool),
]);

const REALTIME_INPUT_CONFIG: Shape = Object(&[
    optional(
        "automaticActivityDetection",
        Object(&[
            optional("disabled", Bool),
            optional("startOfSpeechSensitivity", Text),
            optional("endOfSpeechSensitivity", Text),
            optional("prefixPaddingMs", Number),
            optional("silenceDurationMs", Number),
        ]),
    ),
    optional("activityHandling", Text),
    optional("turnCoverage", Text),
]);

const CLIENT_MESSAGE: Shape = Object(&[
    optional(
        "setup",
        Object(&[
            required("model", Text),
            optional("generationConfig", GENERATION_CONFIG),
            optional("systemInstruction", CONTENT),
            optional("tools", List(&TOOL)),
            optional("realtimeInputConfig", REALTIME_INPUT_CONFIG),
            optional("sessionResumption", Object(&[optional("handle", Text)])),
            optional(
                "contextWindowCompression",
                Object(&[
                    optional("triggerTokens", Any),
                    optional("slidingWindow", Object(&[optional("targetTokens", Any)])),
                ]),
            ),
            optional("inputAudioTranscription", Map),
            optional("outputAudioTranscription", Map),
            optional("proactivity", Object(&[optional("proactiveAudio", Bool)])),
            optional(
                "historyConfig",
                Object(&[optional("initialHistoryInClientContent", Bool)]),
            ),
            optional("avatarConfig", Map),
            optional("safetySettings", List(&Map)),
        ]),
    ),
    optional(
        "clientContent",
        Object(&[
            optional("turns", List(&CONTENT)),
            optional("turnComplete", Bool),
        ]),
    ),
    optional(
        "realtimeInput",
        Object(&[
            optional("mediaChunks", List(&BLOB)),
            optional("audio", BLOB),
            optional("video", BLOB),
            optional("text", Text),
            optional("audioStreamEnd", Bool),
            optional("activityStart", Object(&[])),
            optional("activityEnd", Object(&[])),
        ]),
    ),
    optional(
        "toolResponse",
        Object(&[required(
            "functionResponses",
            List(&Object(FUNCTION_RESPONSE)),
        )]),
    ),
]);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("not poisoned")
}

impl StrictGemini {
    pub(crate) fn new(conversations: Conversations) -> Self {
        Self {
            conversations,
            conversation: Arc::default(),
            phase: Phase::Opened,
            manual_activity: false,
            non_blocking: HashSet::new(),
        }
    }

    pub(crate) fn model(&self) -> String {
        lock(&self.conversation).model.clone()
    }

    pub(crate) fn sent(&mut self, message: &Value) {
        if message.get("setupComplete").is_some()
            && let Phase::SetUp { history } = self.phase
        {
            self.phase = if history { Phase::History } else { Phase::Talk };
        }
        let mut conversation = lock(&self.conversation);
        for call in items(&message["toolCall"]["functionCalls"]) {
            let name = text(call, "name").to_owned();
            conversation.calls.insert(
                text(call, "id").to_owned(),
                Call {
                    name,
                    state: CallState::Open,
                },
            );
        }
        for id in items(&message["toolCallCancellation"]["ids"])
            .iter()
            .filter_map(Value::as_str)
        {
            if let Some(call) = conversation.calls.get_mut(id) {
                call.state = CallState::Withdrawn;
            }
        }
        if let Some(handle) = message["sessionResumptionUpdate"]["newHandle"].as_str() {
            conversation.handles += 1;
            let handle_of = Handle {
                conversation: Arc::clone(&self.conversation),
                number: conversation.handles,
            };
            lock(&self.conversations.0).insert(handle.to_owned(), handle_of);
        }
    }

    pub(crate) fn received(&mut self, message: &Value) -> Verdict {
        CLIENT_MESSAGE.check("message", message)?;
        let mut members = message.as_object().into_iter().flatten();
        let (Some((kind, value)), None) = (members.next(), members.next()) else {
            return Err("a message has exactly one of `setup`, `clientContent`, `realtimeInput`, `toolResponse`".into());
        };
        let is_setup = kind == "setup";
        match self.phase {
            Phase::Opened => rule(is_setup, "the first message is `setup`")?,
            _ if is_setup => return Err("`setup` is sent once".into()),
            Phase::SetUp { .. } => return Err("nothing is sent before `setupComplete`".into()),
            Phase::History => rule(
                kind == "clientContent",
                "the initial history comes first, until `turnComplete`",
            )?,
            Phase::Talk => {}
        }
        match kind.as_str() {
            "setup" => self.set_up(value),
            "clientContent" => self.add_history(value),
            "realtimeInput" => self.check_input(value),
            _ => items(&value["functionResponses"])
                .iter()
                .try_for_each(|response| self.answer(response)),
        }
    }

    fn set_up(&mut self, setup: &Value) -> Verdict {
        let model = text(setup, "model");
        rule(model.contains('/'), "a model has the form `models/{model}`")?;
        if let Some(handle) = setup["sessionResumption"]["handle"].as_str() {
            self.resume(handle, model)?;
        }
        model.clone_into(&mut lock(&self.conversation).model);
        self.manual_activity =
            setup["realtimeInputConfig"]["automaticActivityDetection"]["disabled"] == true;
        for part in items(&setup["systemInstruction"]["parts"]) {
            rule(part.get("text").is_some(), "the instruction has text only")?;
        }
        let mut names = HashSet::new();
        for function in items(&setup["tools"])
            .iter()
            .flat_map(|tool| items(&tool["functionDeclarations"]))
        {
            let name = text(function, "name");
            rule(
                is_function_name(name),
                format!("`{name}` is not the name of a function"),
            )?;
            rule(
                names.insert(name),
                format!("the function `{name}` is declared twice"),
            )?;
            let schemas =
                ["parameters", "parametersJsonSchema"].map(|member| function.get(member).is_some());
            rule(
                schemas != [true, true],
                "`parameters` excludes `parametersJsonSchema`",
            )?;
            if function["behavior"] == "NON_BLOCKING" {
                self.non_blocking.insert(name.to_owned());
            }
        }
        self.phase = Phase::SetUp {
            history: setup["historyConfig"]["initialHistoryInClientContent"] == true,
        };
        Ok(())
    }

    /// Takes over the conversation of a handle. Answers that came after the handle are lost.
    fn resume(&mut self, handle: &str, model: &str) -> Verdict {
        let known = lock(&self.conversations.0).get(handle).cloned();
        let Handle {
            conversation,
            number,
        } = known.ok_or("the server has not given this handle")?;
        {
            let mut resumed = lock(&conversation);
            rule(
                resumed.model == model,
                "a resumed conversation keeps its model",
            )?;
            for call in resumed.calls.values_mut() {
                if matches!(call.state, CallState::Answered(handles) if handles >= number) {
                    call.state = CallState::Open;
                }
            }
        }
        self.conversation = conversation;
        Ok(())
    }

    fn add_history(&mut self, content: &Value) -> Verdict {
        rule(
            self.phase == Phase::History,
            "`clientContent` is the initial history, which `historyConfig` announces",
        )?;
        if content["turnComplete"] == true {
            self.phase = Phase::Talk;
        }
        let parts = || {
            items(&content["turns"])
                .iter()
                .flat_map(|turn| items(&turn["parts"]))
        };
        let call_names = parts()
            .map(|part| text(&part["functionCall"], "name"))
            .collect::<HashSet<_>>();
        for response in parts().filter_map(|part| part.get("functionResponse")) {
            rule(
                call_names.contains(text(response, "name")),
                "a response in the history follows its call",
            )?;
        }
        Ok(())
    }

    fn check_input(&self, input: &Value) -> Verdict {
        let has = |name: &str| input.get(name).is_some();
        rule(
            !input.as_object().is_some_and(serde_json::Map::is_empty),
            "`realtimeInput` has no input",
        )?;
        let is_activity = has("activityStart") || has("activityEnd");
        rule(
            !is_activity || self.manual_activity,
            "activity is marked only if its detection is disabled",
        )?;
        rule(
            !has("audioStreamEnd") || !self.manual_activity,
            "`audioStreamEnd` needs the detection of activity",
        )?;
        rule(
            !has("audio") || text(&input["audio"], "mimeType").starts_with("audio/pcm"),
            "audio is PCM",
        )
    }

    fn answer(&self, response: &Value) -> Verdict {
        let id = text(response, "id");
        let mut conversation = lock(&self.conversation);
        let handles = conversation.handles;
        let call = conversation
            .calls
            .get_mut(id)
            .ok_or_else(|| format!("no call has the id `{id}`"))?;
        let name = text(response, "name");
        rule(
            call.name == name,
            format!("the call `{id}` is one of `{}`, not `{name}`", call.name),
        )?;
        rule(
            call.state != CallState::Withdrawn,
            format!("the call `{id}` was withdrawn"),
        )?;
        rule(
            call.state == CallState::Open,
            format!("the call `{id}` was answered before"),
        )?;
        // Other functions ignore the member.
        let continues = response["willContinue"] == true && self.non_blocking.contains(name);
        call.state = if continues {
            CallState::Open
        } else {
            CallState::Answered(handles)
        };
        Ok(())
    }
}

fn is_function_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name.len() <= 128
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(is_allowed)
}

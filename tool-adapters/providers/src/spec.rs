//! The facts of one provider, as data that the shared code reads.
//!
//! Each provider's folder has one [`ProviderSpec`] for each of its interfaces, which says where the
//! provider differs from `ProviderSpec::new`. The list in `lib.rs` names all of them. The endpoints
//! are plain text: nothing here opens a connection.

use crate::accepted_parts::AcceptedParts;
use crate::codec::{CallIds, MessageReader, ToolAnswer};
use crate::declared_tool::DeclaredTool;
use crate::hosts::{Host, HostRules, KnownHost};
use crate::message_parts::FormCheck;
use crate::prompt_cache::PromptCache;
use crate::request::Request;
use crate::schema::rules::{PropertyNames, SchemaForm, WholeSchema};
use crate::setting_places::SettingPlace;
use crate::step_model::MODEL;
use crate::strict::budget::StrictRules;
use crate::structured::AnswerForm;
use crate::token_counter::TokenCounter;
use crate::tool_names::NameRule;
use serde_json::{Value, json};
use tool_core::schema::percent_decode;
use tool_core::session::{ToolChoice, UserMessage};
use tool_core::trace::TokenUsage;

/// The facts of one provider.
#[derive(Clone, Copy)]
pub struct ProviderSpec {
    /// The names of the provider.
    pub names: ProviderNames,
    /// The way to reach the provider.
    pub endpoint: Endpoint,
    /// Recognises the requests of other clients by their URL; `None` for an interface without such
    /// requests.
    pub urls: Option<ModelUrls>,
    /// The messages of the provider.
    pub(crate) messages: MessageForm,
    /// The details in which servers with the same messages differ, such as the members that they
    /// take back.
    pub(crate) host_rules: HostRules,
    /// The images, sounds, videos and documents that a message of the user may have.
    pub accepted: AcceptedParts,
    /// The servers that have other details than these.
    pub(crate) known_hosts: &'static [KnownHost],
    /// Writes the declaration of a function tool as JSON.
    pub(crate) declaration: fn(&DeclaredTool<'_>) -> String,
    /// The names that tools may have.
    pub tool_names: NameRule,
    pub(crate) schema: SchemaForm,
    /// The names of properties, at any depth; `None` if the provider accepts any. Others are
    /// renamed.
    pub(crate) property_names: Option<PropertyNames>,
    /// The strict tools; `None` if the provider has none.
    pub(crate) strict: Option<StrictRules>,
    /// True if the provider refuses every later request with a turn that it refused to answer.
    pub repeats_refusals: bool,
    /// Returns true for an item of a raw turn with reasoning that another model of the provider may
    /// refuse.
    pub(crate) has_reasoning: fn(item: &Value) -> bool,
    /// The form for structured output; `None` if the provider has none.
    pub answer_form: Option<AnswerForm>,
    /// The settings of a model, where the provider has them.
    pub(crate) settings: &'static [SettingPlace],
    /// Returns true for a model that can be made to call a given tool.
    pub(crate) takes_tool_choice: fn(model: &str) -> bool,
    /// The way in which the provider caches the beginning of a request.
    pub(crate) prompt_cache: PromptCache,
    /// The form of the list of tools.
    pub tool_list: ToolListForm,
    /// The maximum number of tools in a request; `None` if no limit is known.
    pub max_tools: Option<usize>,
    /// The provider's own search over tools whose declarations say `defer_loading`, as JSON; `None`
    /// if it has none.
    pub search_tool: Option<&'static str>,
    /// Returns further members of a request with such tools.
    pub request_settings: fn(DeclaredKinds) -> Option<Value>,
}

impl ProviderSpec {
    /// Returns what most providers have in common: tools in OpenAI's form, with nearly any schema,
    /// and no strict ones.
    pub(crate) const fn new(
        names: ProviderNames,
        endpoint: Endpoint,
        messages: MessageForm,
    ) -> Self {
        Self {
            names,
            endpoint,
            urls: None,
            messages,
            host_rules: HostRules::DEFAULT,
            accepted: AcceptedParts::TEXT,
            known_hosts: &[],
            declaration: |tool| tool.nested_function(None),
            tool_names: NameRule::OPENAI,
            schema: SchemaForm::Whole(&WholeSchema::ANY),
            property_names: None,
            strict: None,
            repeats_refusals: false,
            has_reasoning: |_| false,
            answer_form: None,
            settings: &[],
            takes_tool_choice: |_| true,
            prompt_cache: PromptCache::Implicit,
            tool_list: ToolListForm::Flat,
            max_tools: None,
            search_tool: None,
            request_settings: |_| None,
        }
    }

    /// Returns an item for the raw turn of an answer that names the requested model, where another
    /// model of the provider may refuse what is in the turn.
    pub fn model_item(&self, model: &str, items: &[Value]) -> Option<Value> {
        let has_reasoning = items.iter().any(self.has_reasoning);
        has_reasoning.then(|| json!({"type": MODEL, "model": model}))
    }
}

/// The names of a provider.
#[derive(Clone, Copy)]
pub struct ProviderNames {
    /// The name at the command line, in reports and errors, and of provider tools.
    pub provider: &'static str,
    /// The id under which the model's turns are kept in the provider's own form. Interfaces with
    /// the same conversation share one.
    pub turns: &'static str,
    /// The value of OpenTelemetry's `gen_ai.provider.name`.
    pub otel: &'static str,
    /// The key among a manifest's `providerSchemas`.
    pub manifest: &'static str,
    /// The id of the company that bills requests, as price tables have it; `None` where the model's
    /// name decides. A company that no table has gets its own name: then requests have no price,
    /// rather than another company's.
    pub biller: Option<&'static str>,
}

impl ProviderNames {
    /// Returns the names of a provider that everyone calls the same, and that no price table knows.
    pub(crate) const fn of(name: &'static str) -> Self {
        Self {
            provider: name,
            turns: name,
            otel: name,
            manifest: name,
            biller: None,
        }
    }
}

/// The messages of a provider.
#[derive(Clone, Copy)]
pub(crate) struct MessageForm {
    /// Makes a reader of the provider's messages.
    pub(crate) reader: fn() -> Box<dyn MessageReader>,
    /// Writes the results of calls.
    pub(crate) encode: fn(&[ToolAnswer<'_>], &CallIds, &Host) -> Value,
    /// Writes the body of a request, or the message that sets up a session.
    pub(crate) request: fn(&Request<'_>, &Host) -> Value,
    /// Returns true if a message of the user has a form for a part. Others cannot be sent.
    pub(crate) has_form: FormCheck,
}

/// The form of a request's `tools`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ToolListForm {
    /// Each tool is an item.
    Flat,
    /// All function tools are one item, and each provider tool is another. Most models accept one
    /// of the two kinds.
    Grouped,
    /// All tools are members of one item.
    Merged,
}

/// The kinds of tools in a request.
#[derive(Clone, Copy)]
pub struct DeclaredKinds {
    /// True if there is a function tool.
    pub functions: bool,
    /// True if there is a tool that the provider runs.
    pub provider_tools: bool,
    /// True if a function tool is strict.
    pub strict: bool,
}

/// The way to reach a provider.
#[derive(Clone, Copy)]
pub enum Endpoint {
    /// Over HTTP.
    Http(HttpEndpoint),
    /// Over a WebSocket.
    WebSocket(LiveEndpoint),
    /// A protocol for tools, without a model behind it.
    ToolServer,
}

/// The server of a provider and the environment variables that its own libraries read.
#[derive(Clone, Copy)]
pub struct Server {
    /// The default base URL. `{region}` stands for the first of `region_env` that is set.
    pub base_url: &'static str,
    /// The variables that set the base URL.
    pub base_url_env: &'static [&'static str],
    /// The variables that set the region.
    pub region_env: &'static [&'static str],
    /// The variables that set the key.
    pub key_env: &'static [&'static str],
    /// The header of the key, in lower case, and the text before the key.
    pub key_header: (&'static str, &'static str),
    /// False if the default server answers without a key.
    pub key_required: bool,
    /// The hosts that have the same API, and of which the path before it is known.
    pub(crate) known_hosts: &'static [KnownHost],
    /// Ends of base URLs that belong to other APIs of the same server, and are left out.
    pub other_apis: &'static [&'static [&'static str]],
}

impl Server {
    /// Returns a server that wants a bearer token.
    pub(crate) const fn new(base_url: &'static str, key_env: &'static [&'static str]) -> Self {
        Self {
            base_url,
            base_url_env: &[],
            region_env: &[],
            key_env,
            key_header: ("authorization", "Bearer "),
            key_required: true,
            known_hosts: &[],
            other_apis: &[],
        }
    }

    /// Returns the segments of the path before that of the API, which are known of a host. A base
    /// URL without them gets them.
    pub fn path_at(&self, host: &str) -> &'static [&'static str] {
        let is_host = |known: &&KnownHost| known.domain.eq_ignore_ascii_case(host);
        let known = self
            .known_hosts
            .iter()
            .find(|known| is_host(known) && !known.path.is_empty());
        known.map_or(&[], |known| known.path)
    }

    /// Returns true if the default base URL has this host and is encrypted.
    pub fn is_at(&self, host: &str) -> bool {
        let Some(address) = self.base_url.strip_prefix("https://") else {
            return false;
        };
        let default = address.split('/').next().unwrap_or_default();
        let Some((before, after)) = default.split_once("{region}") else {
            return host == default;
        };
        let region = host
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after));
        region.is_some_and(|region| !region.is_empty() && !region.contains('.'))
    }
}

/// A model behind an HTTP API.
#[derive(Clone, Copy)]
pub struct HttpEndpoint {
    /// The server and its settings.
    pub server: Server,
    /// Headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
    /// Returns the segments of the path for a model, with or without streaming. The transport
    /// escapes each.
    pub path: fn(model: &str, stream: bool) -> Vec<String>,
    /// The query parameter of a streaming request.
    pub stream_query: Option<(&'static str, &'static str)>,
    /// The endpoint that counts the tokens of a request; `None` if the provider has none.
    pub token_counter: Option<TokenCounter>,
    /// The header by which the provider knows a request that is sent again, in lower case; `None`
    /// if it knows none.
    pub idempotency_header: Option<&'static str>,
}

impl HttpEndpoint {
    /// Returns an endpoint that streams, without further headers.
    pub(crate) const fn new(server: Server, path: fn(&str, bool) -> Vec<String>) -> Self {
        Self {
            server,
            headers: &[],
            path,
            stream_query: None,
            token_counter: None,
            idempotency_header: None,
        }
    }
}

/// A model behind a WebSocket.
#[derive(Clone, Copy)]
pub struct LiveEndpoint {
    /// The server and its settings.
    pub server: Server,
    /// The path of the socket.
    pub path: &'static str,
    /// The query parameter that names the model; `None` if the setup message names it.
    pub model_query: Option<&'static str>,
    /// The default rate of input audio in Hz.
    pub audio_rate: u32,
    /// True if the provider takes nothing before it has confirmed the setup.
    pub confirms_setup: bool,
    /// True if an interruption ends the response. Otherwise the response's own end says so.
    pub interruption_ends_response: bool,
    /// True if the model goes on by itself once it has the results of the calls of a message, which
    /// are a step of the reply. Otherwise the step ends with the response, and the model is asked
    /// for the next one.
    pub answers_results: bool,
    /// The settings with which a host may set instructions.
    pub instruction_settings: &'static [&'static str],
    /// The messages of a session.
    pub messages: &'static dyn LiveMessages,
}

/// Writes and reads the messages of a live session that are not part of the conversation.
pub trait LiveMessages: Sync {
    /// Writes a text of the user.
    fn text(&self, text: &str) -> LiveMessage;

    /// Writes a message of the user, with the images and sounds that the server takes.
    fn user(&self, message: &UserMessage, accepted: &AcceptedParts) -> LiveMessage;

    /// Writes the history of the conversation for a new session. The settings of the request are
    /// those of the setup.
    fn history(&self, request: &Request<'_>, accepted: &AcceptedParts) -> Vec<Value>;

    /// Writes the message after which the model speaks. Where it needs a text, that is `cue`.
    fn cue(&self, cue: &str) -> LiveMessage;

    /// Returns the id of a piece of speech that the user has ended, whose transcript comes later.
    fn committed_speech(&self, _message: &Value) -> Option<String> {
        None
    }

    /// Returns true if the provider responds to the user's speech by itself, by a setup.
    fn answers_speech(&self, _setup: &Value) -> bool {
        true
    }

    /// Returns true if the provider has heard the end of the user's speech, to which it responds by
    /// itself.
    fn ends_speech(&self, _message: &Value) -> bool {
        false
    }

    /// Returns true if the provider has discarded the user's speech, to which it does not respond.
    fn discards_speech(&self, _message: &Value) -> bool {
        false
    }

    /// Returns the id of a piece of speech that has no transcript, because the provider failed.
    fn untranscribed_speech(&self, _message: &Value) -> Option<String> {
        None
    }

    /// Reads the user's speech from a message.
    fn heard(&self, message: &Value) -> Option<HeardText>;

    /// Turns on transcripts of the speech, where the settings do not say otherwise.
    fn transcribe(&self, setup: &mut Value);

    /// Returns the model that transcribes the user's speech by a setup, where the provider bills it
    /// beside the model of the conversation.
    fn transcriber(&self, _setup: &Value) -> Option<String> {
        None
    }

    /// Reads the tokens that the transcript of a piece of speech has cost.
    fn transcription_usage(&self, _message: &Value) -> Option<TokenUsage> {
        None
    }

    /// Declares that the model goes on while calls run, where the provider has such tools.
    fn run_in_background(&self, _setup: &mut Value) {}

    /// Writes a piece of the user's audio, given in base64.
    fn audio(&self, base64: &str, mime_type: &str) -> LiveMessage;

    /// Writes the end of the user's audio. Where it wants a response, that is requested once the
    /// provider has [committed](Self::committed_speech) the speech.
    fn audio_end(&self) -> LiveMessage;

    /// Writes the message that stops the response, where there is one.
    fn cancel_response(&self) -> Option<Value> {
        None
    }

    /// Writes the message that makes the model answer, where it has to be asked. With
    /// `ToolChoice::None` it may not call.
    fn request_response(&self, _tool_choice: ToolChoice) -> Option<Value> {
        None
    }

    /// Takes the tools of a setup for the open session; `None` where only a new connection takes
    /// them.
    fn update_tools(&self, _setup: &Value) -> Option<Value> {
        None
    }

    /// Splits the encoded results of calls into messages.
    fn results(&self, encoded: Value) -> LiveMessage {
        match encoded {
            Value::Array(messages) => LiveMessage {
                messages,
                wants_response: false,
            },
            Value::Null => LiveMessage {
                messages: Vec::new(),
                wants_response: false,
            },
            message => message.into(),
        }
    }

    /// Adds to the setup that the session can be resumed, or that it resumes the session of
    /// `handle`.
    fn resumable(&self, setup: Value, _handle: Option<&str>) -> Value {
        setup
    }

    /// Reads the handle for resuming the session; `None` if the message is about something else.
    fn resumption_handle(&self, _message: &Value) -> Option<ResumptionHandle> {
        None
    }

    /// Names the setup, where the provider's errors name the message that they refuse.
    fn name_setup(&self, _setup: &mut Value) {}

    /// Returns the reason for which the provider refuses the setup; `None` if the message is about
    /// something else.
    fn refusal_of_setup(&self, _message: &Value) -> Option<String> {
        None
    }

    /// Returns true if the message confirms the setup.
    fn confirms_setup(&self, _message: &Value) -> bool {
        false
    }

    /// Returns true if the message says that the provider closes the connection soon.
    fn announces_end(&self, _message: &Value) -> bool {
        false
    }

    /// Returns true if the message begins a response.
    fn begins_response(&self, _message: &Value) -> bool {
        false
    }
}

/// A piece of the user's speech.
#[derive(Debug, PartialEq)]
pub struct HeardText {
    /// The text.
    pub text: String,
    /// True if the piece is all that the user said in a row.
    pub is_whole: bool,
    /// The id of the speech; empty if the provider names none.
    pub item_id: String,
}

/// Messages to a live session.
#[derive(Clone)]
pub struct LiveMessage {
    /// The messages, in order.
    pub messages: Vec<Value>,
    /// True if the provider answers only after [`LiveMessages::request_response`].
    pub wants_response: bool,
}

impl From<Value> for LiveMessage {
    fn from(message: Value) -> Self {
        Self {
            messages: vec![message],
            wants_response: false,
        }
    }
}

impl LiveMessage {
    /// A message that the provider answers only after [`LiveMessages::request_response`].
    pub fn wanting_response(message: Value) -> Self {
        Self {
            messages: vec![message],
            wants_response: true,
        }
    }
}

/// The model that a URL names; `None` if the model is elsewhere in the request.
pub type NamedModel = Option<String>;

/// The handle for resuming a session; `None` if it cannot be resumed at the moment.
pub type ResumptionHandle = Option<String>;

/// Recognises requests by their URL.
#[derive(Clone, Copy)]
pub struct ModelUrls {
    /// The domain whose requests the provider claims before others with the same paths.
    pub domain: Option<&'static str>,
    /// Returns the model that the URL names, or `None` if the path is another API's.
    pub model: fn(&UrlPath<'_>) -> Option<NamedModel>,
}

/// The path of a URL without its query, in the parts that tell APIs apart.
pub struct UrlPath<'a> {
    /// The path up to the last `/`.
    pub before: &'a str,
    /// The segment before the last.
    pub parent: &'a str,
    /// The last segment.
    pub last: &'a str,
}

impl<'a> UrlPath<'a> {
    /// Splits a path; `None` without a `/`.
    pub fn new(path: &'a str) -> Option<Self> {
        let (before, last) = path.rsplit_once('/')?;
        Some(Self {
            before,
            parent: before.rsplit('/').next().unwrap_or_default(),
            last,
        })
    }

    /// Returns the model of a last segment of the form `model:method`, for one of these methods.
    pub fn model_of_method(&self, methods: &[&str]) -> Option<String> {
        let (model, method) = self.last.rsplit_once(':')?;
        methods.contains(&method).then(|| unescaped(model))
    }

    /// Returns the segment after a fixed one.
    pub fn segment_after(&self, fixed: &str) -> Option<String> {
        let (_, rest) = self.before.split_once(&format!("/{fixed}/"))?;
        rest.split('/').next().map(unescaped)
    }
}

/// Decodes a segment. One with an invalid escape stays as it is.
fn unescaped(segment: &str) -> String {
    percent_decode(segment).unwrap_or_else(|| segment.to_owned())
}

/// Returns fixed segments of a path.
pub fn segments(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|segment| (*segment).to_owned()).collect()
}

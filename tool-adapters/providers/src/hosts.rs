//! The servers behind a protocol: what each takes back, and how it names the limit of tokens.
//!
//! Many servers speak the same protocol and differ in details. A provider's spec has the details
//! that their documents, or reports of their users, tell.

use crate::Provider;
use crate::accepted_parts::AcceptedParts;
use crate::message_parts::{FormCheck, RefusedParts, refused_parts, unread_message};
use crate::setting_places::{self, Setting, SettingPlace};
use crate::spec::{Endpoint, Server};
use crate::structured::StructuredOutput;
use serde_json::Value;
use tool_core::session::{Message, RawTurn, UserMessage};
use tool_core::tool::ProviderId;

/// The steps of a model that go back to its server as the server sent them, with reasoning and
/// signatures.
///
/// The other steps go back as their text and calls. A step never goes back to another server than
/// the one that sent it.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::ReasoningBack;
/// use tool_adapters::transport::http::HttpModel;
///
/// // A server that refuses the members which it sends itself.
/// let model = HttpModel::new(Provider::OpenAiChat, "our-model")
///     .base_url("https://gateway.example/v1")
///     .reasoning_back(ReasoningBack::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningBack {
    /// No step.
    Never,
    /// The steps since the user's last message.
    WithinTurn,
    /// All steps.
    Always,
}

/// The member of a request in Chat Completions that limits the tokens of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenLimit {
    /// `max_tokens`, which most servers have.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models need and many other servers refuse.
    MaxCompletionTokens,
}

/// A server that speaks a provider's protocol.
///
/// It decides which steps of the history go back as they came, and the details in which a server
/// differs from others.
///
/// ```
/// use tool_adapters::{Provider, protocol};
/// use tool_adapters::providers::Host;
///
/// let host = Host::at(Provider::OpenAiChat, "https://api.deepseek.com/v1");
/// assert_eq!(host.turn_id().as_str(), "openai-chat@api.deepseek.com");
/// assert_eq!(Host::of(Provider::OpenAiChat).turn_id().as_str(), "openai-chat");
///
/// let mut protocol = protocol(Provider::OpenAiChat);
/// protocol.host(host); // Its requests have what this server takes.
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The provider whose protocol the server speaks.
    provider: Provider,
    turn_id: ProviderId,
    /// True for the provider's own server.
    pub(crate) is_own: bool,
    pub(crate) rules: HostRules,
    accepted: AcceptedParts,
}

impl Host {
    /// Returns the provider's own server.
    pub fn of(provider: Provider) -> Self {
        Self::at(provider, "")
    }

    /// Returns the server at a base URL. An empty one is the provider's own.
    pub fn at(provider: Provider, base_url: &str) -> Self {
        let spec = provider.spec();
        let address = address_of(base_url);
        let server = match spec.endpoint {
            Endpoint::Http(http) => Some(http.server),
            Endpoint::WebSocket(live) => Some(live.server),
            Endpoint::ToolServer => None,
        };
        let is_own = address.is_empty() || server.is_some_and(|server| is_at(&server, &address));
        let turn_id = if is_own {
            ProviderId::from_static(spec.names.turns)
        } else {
            ProviderId::new(format!("{}@{address}", spec.names.turns))
        };
        let own = server.map_or("", |server| server.base_url);
        let address = if is_own { address_of(own) } else { address };
        let known = KnownHost::find(spec.known_hosts, domain_of(&address));
        let rules = known.map_or(spec.host_rules, |host| host.rules);
        let accepted = rules.accepted.copied().unwrap_or(spec.accepted);
        // An unknown server may load URLs from inside the network of the program.
        let loads_urls = is_own || known.is_some();
        Self {
            provider,
            turn_id,
            is_own,
            rules,
            accepted: if loads_urls {
                accepted
            } else {
                accepted.without_urls()
            },
        }
    }

    /// Sets the steps that go back as the server sent them. Defaults to what is known about the
    /// server, and to all for others.
    #[must_use]
    pub fn reasoning_back(mut self, steps: ReasoningBack) -> Self {
        self.rules.reasoning = steps;
        self
    }

    /// Sets the member that limits the tokens of the answer, for Chat Completions. Defaults to what
    /// is known about the server, and to `max_tokens` for others.
    #[must_use]
    pub fn token_limit(mut self, member: TokenLimit) -> Self {
        self.rules.token_limit = member;
        self
    }

    /// Treats this server as the one at another base URL, whose API it has, such as a gateway in
    /// front of it. The steps of the two servers stay apart.
    ///
    /// ```
    /// use tool_adapters::Provider;
    /// use tool_adapters::providers::Host;
    ///
    /// let gateway = Host::at(Provider::OpenAiChat, "https://gateway.example/v1").like(Provider::OpenAiChat, "https://api.deepseek.com");
    /// assert_eq!(gateway.turn_id().as_str(), "openai-chat@gateway.example");
    /// ```
    #[must_use]
    pub fn like(mut self, provider: Provider, base_url: &str) -> Self {
        let other = Self::at(provider, base_url);
        self.rules = other.rules;
        self.accepted = other.accepted;
        self
    }

    /// Sets the images, sounds, videos and documents that a message of the user may have, for a
    /// model that takes less or more than its provider's documents say.
    ///
    /// The default is what is known about the provider and the server. A server of which nothing is
    /// known is given no URLs: it may be one of your own, and would load them from inside your
    /// network.
    ///
    /// ```
    /// use tool_adapters::Provider;
    /// use tool_adapters::providers::{AcceptedMedia, AcceptedParts, Host};
    /// use tool_core::session::UserMessage;
    ///
    /// let host = Host::at(Provider::OpenAiChat, "http://127.0.0.1:8000/v1");
    /// let message = UserMessage::default().with_url("https://example.com/harbour.png", "image/png");
    /// assert!(host.check_message(&message).is_err());
    ///
    /// let images = AcceptedMedia::bytes(&["image/png", "image/jpeg"]).or_urls(&["https"]);
    /// let host = host.accept_parts(AcceptedParts { images, ..AcceptedParts::TEXT });
    /// assert!(host.check_message(&message).is_ok());
    /// ```
    #[must_use]
    pub fn accept_parts(mut self, parts: AcceptedParts) -> Self {
        self.accepted = parts;
        self
    }

    /// Returns the images, sounds, videos and documents that a message of the user may have.
    pub fn accepted_parts(&self) -> &AcceptedParts {
        &self.accepted
    }

    /// Checks that the server takes every part of a message.
    ///
    /// The models of this crate check the newest message of the user before they send anything. Use
    /// this to check one earlier, for example when a file is chosen.
    ///
    /// # Errors
    ///
    /// The server does not take a part. The error names every such part.
    pub fn check_message(&self, message: &UserMessage) -> Result<(), RefusedParts> {
        let problems = refused_parts(message, &self.accepted, self.form_check());
        if problems.is_empty() {
            return Ok(());
        }
        Err(RefusedParts {
            server: self.turn_id.as_str().to_owned(),
            problems,
        })
    }

    /// Returns the check for a form of a part in requests to this server.
    fn form_check(&self) -> FormCheck {
        let provider = if self.rules.is_mistral {
            Provider::Mistral
        } else {
            self.provider
        };
        provider.spec().messages.has_form
    }

    /// Checks the message of a history that the model has not read yet. A part of an earlier
    /// message that the server does not take is a note in a request, such as
    /// `[image image/png left out]`, so that a conversation can go on with another provider.
    ///
    /// # Errors
    ///
    /// The server does not take a part of the newest message of the user. The error names every
    /// such part.
    pub fn check_history(&self, history: &[Message]) -> Result<(), RefusedParts> {
        match unread_message(history).and_then(|position| history.get(position)) {
            Some(Message::User(said)) => self.check_message(said),
            _ => Ok(()),
        }
    }

    /// Returns the id under which the history keeps the steps of this server
    /// ([`RawTurn::provider`]).
    ///
    /// It is the protocol's name for the provider's own server, and has the host and the port of
    /// another one behind an `@`.
    pub fn turn_id(&self) -> ProviderId {
        self.turn_id.clone()
    }

    /// Returns the settings that requests may have.
    pub(crate) fn settings(&self, provider: Provider) -> &'static [SettingPlace] {
        if self.rules.is_mistral {
            setting_places::MISTRAL
        } else {
            provider.spec().settings
        }
    }

    /// Returns the items of a step that goes back as this server sent it; `None` for a step that
    /// goes back as text and calls. `in_turn` is true for the steps since the user's last message.
    pub(crate) fn native<'a>(
        &self,
        native: Option<&'a RawTurn>,
        in_turn: bool,
    ) -> Option<&'a [Value]> {
        let goes_back = match self.rules.reasoning {
            ReasoningBack::Never => false,
            ReasoningBack::WithinTurn => in_turn,
            ReasoningBack::Always => true,
        };
        native
            .filter(|native| goes_back && native.provider == self.turn_id)
            .map(|native| native.items.as_slice())
    }
}

/// Returns true if a server is the provider's own.
fn is_at(server: &Server, address: &str) -> bool {
    // The default server may be this machine, which has no certificate.
    server.is_at(address) || address_of(server.base_url) == address
}

/// Returns the host of a base URL in lower case, with its port if that is not the scheme's own.
fn address_of(base_url: &str) -> String {
    let base_url = base_url.trim();
    let (scheme, rest) = base_url.split_once("://").unwrap_or(("", base_url));
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let address = authority
        .rsplit_once('@')
        .map_or(authority, |(_, address)| address)
        .to_ascii_lowercase();
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => ":80",
        _ => ":443",
    };
    address
        .strip_suffix(default_port)
        .map_or_else(|| address.clone(), str::to_owned)
}

/// Returns an address without its port.
fn domain_of(address: &str) -> &str {
    let has_port = address
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    has_port.map_or(address, |(domain, _)| domain)
}

/// The details of a server.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about a server"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRules {
    /// The steps that go back as the server sent them.
    pub(crate) reasoning: ReasoningBack,
    /// The members of a model's message that go back beside its text and calls.
    ///
    /// With `None`, all go back, also those that no protocol knows, and so do further members of
    /// its calls. With `Some`, only these do, and a call goes back as its id, name and arguments.
    pub(crate) members: Option<&'static [&'static str]>,
    pub(crate) token_limit: TokenLimit,
    /// True if the server takes `stream_options`.
    pub(crate) stream_options: bool,
    /// True if the result of a call may be parts. Other servers refuse them, or lose the call's id
    /// beside them.
    pub(crate) result_parts: bool,
    /// True if the server takes `tool_choice: required`.
    pub(crate) forces_calls: bool,
    /// True if the server refuses a message of the model without `reasoning_content`, in a
    /// conversation with tools.
    pub(crate) needs_reasoning: bool,
    /// True if the server refuses a step whose first call has no signature.
    pub(crate) needs_signature: bool,
    /// True if the messages of the user and the model have to alternate.
    pub(crate) alternates: bool,
    /// True if the messages have the order and the ids of Mistral's own protocol.
    pub(crate) is_mistral: bool,
    /// True if the server takes `prompt_cache_key`. Others may refuse a member that they do not
    /// know.
    pub(crate) takes_cache_key: bool,
    /// The settings of the protocol that the server does not have.
    pub(crate) lacks: &'static [Setting],
    /// The parts of a user's message where the server takes others than the provider.
    pub(crate) accepted: Option<&'static AcceptedParts>,
}

/// A server of which the documents tell details.
pub(crate) struct KnownHost {
    /// The domain of the server. Its subdomains belong to it.
    pub(crate) domain: &'static str,
    /// The segments of the path before that of the API, which a base URL at this very domain gets.
    /// Empty if it has to say them.
    pub(crate) path: &'static [&'static str],
    pub(crate) structured_output: StructuredOutput,
    pub(crate) rules: HostRules,
}

impl KnownHost {
    /// Returns a server that differs from others in nothing. With most of them, such as vLLM and
    /// llama.cpp, a model cannot call tools while its text has a form.
    pub(crate) const fn at(domain: &'static str) -> Self {
        Self {
            domain,
            path: &[],
            structured_output: StructuredOutput::WithoutCalls,
            rules: HostRules::DEFAULT,
        }
    }

    /// Finds the server of a domain. The first that matches is the one.
    pub(crate) fn find<'a>(hosts: &'a [Self], domain: &str) -> Option<&'a Self> {
        hosts.iter().find(|host| {
            let rest = domain.strip_suffix(host.domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
}

impl HostRules {
    /// The details of a server of which nothing else is known: one of vLLM, SGLang, llama.cpp, LM
    /// Studio, Ollama or a gateway.
    ///
    /// - vLLM takes `reasoning` and `reasoning_content` of a message
    ///   (`vllm/entrypoints/chat_utils.py`), SGLang takes `reasoning_content`
    ///   (`sglang/srt/entrypoints/openai/protocol.py`), llama.cpp too (`common/chat.cpp`), and
    ///   Ollama takes `reasoning` (`openai/openai.go`). All of them pass over other members.
    /// - Ollama loses the id of a result that has parts (`openai/openai.go`).
    /// - llama.cpp, LM Studio and Ollama know `max_tokens` only. The others know both.
    pub(crate) const DEFAULT: Self = Self {
        reasoning: ReasoningBack::Always,
        members: None,
        token_limit: TokenLimit::MaxTokens,
        stream_options: true,
        result_parts: false,
        forces_calls: true,
        needs_reasoning: false,
        needs_signature: false,
        alternates: false,
        is_mistral: false,
        takes_cache_key: false,
        lacks: &[],
        accepted: None,
    };

    /// Mistral refuses all members that it does not know, with 422 `extra_forbidden`,
    /// `max_completion_tokens` and `stream_options` among them. Its reasoning is a part of the
    /// content (docs.mistral.ai, "Reasoning"; the order is checked by
    /// `mistral_common/protocol/instruct/validator.py`).
    pub(crate) const MISTRAL: Self = Self {
        members: Some(&["content"]),
        stream_options: false,
        is_mistral: true,
        takes_cache_key: true,
        ..Self::DEFAULT
    };

    /// Returns true if a member of a model's message goes back.
    pub(crate) fn takes_member(&self, name: &str) -> bool {
        self.members.is_none_or(|members| members.contains(&name))
    }

    /// Returns the name of the limit of tokens.
    pub(crate) fn token_limit_name(&self) -> &'static str {
        match self.token_limit {
            TokenLimit::MaxTokens => "max_tokens",
            TokenLimit::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn turn_id(provider: Provider, base_url: &str) -> String {
        Host::at(provider, base_url).turn_id().as_str().to_owned()
    }

    // M4
    #[test]
    fn the_providers_own_server_has_the_protocols_name() {
        for (provider, url, id) in [
            (Provider::OpenAiChat, "", "openai-chat"),
            (
                Provider::OpenAiChat,
                "https://api.openai.com/v1",
                "openai-chat",
            ),
            (
                Provider::OpenAiChat,
                "HTTPS://API.OpenAI.com:443/v1/",
                "openai-chat",
            ),
            (Provider::Anthropic, "api.anthropic.com", "anthropic"),
            (
                Provider::Bedrock,
                "https://bedrock-runtime.eu-west-1.amazonaws.com",
                "bedrock",
            ),
            (Provider::Ollama, "http://127.0.0.1:11434", "ollama"),
            (Provider::GeminiJsonSchema, "", "gemini"),
        ] {
            assert_eq!(turn_id(provider, url), id, "{url}");
        }
    }

    // M4
    #[test]
    fn another_server_has_its_address_in_the_id() {
        for (url, id) in [
            (
                "https://ann:secret@api.deepseek.com/v1?key=secret",
                "openai-chat@api.deepseek.com",
            ),
            ("http://127.0.0.1:8000/v1", "openai-chat@127.0.0.1:8000"),
            ("http://localhost:80/v1", "openai-chat@localhost"),
            ("http://[::1]:8080", "openai-chat@[::1]:8080"),
            (
                "https://api.openai.com.evil.example",
                "openai-chat@api.openai.com.evil.example",
            ),
            (
                "https://api.openai.com:8443",
                "openai-chat@api.openai.com:8443",
            ),
        ] {
            assert_eq!(turn_id(Provider::OpenAiChat, url), id);
        }
    }

    // M4
    #[test]
    fn a_step_goes_back_to_its_own_server_only() {
        let own = Host::at(Provider::OpenAiChat, "https://api.deepseek.com");
        let step = RawTurn {
            provider: own.turn_id(),
            items: vec![json!({"role": "assistant"})],
        };
        assert!(own.native(Some(&step), false).is_some());
        for url in ["", "https://api.moonshot.ai/v1", "http://localhost:8000"] {
            assert_eq!(
                Host::at(Provider::OpenAiChat, url).native(Some(&step), true),
                None,
                "{url}"
            );
        }
    }

    fn image_urls(provider: Provider, url: &str) -> &'static [&'static str] {
        let host = Host::at(provider, url);
        host.accepted_parts().images.url_schemes
    }

    // M14
    #[test]
    fn a_cloud_with_the_providers_api_loads_urls() {
        for (provider, domain) in [
            (Provider::Gemini, "europe-west1-aiplatform.googleapis.com"),
            (Provider::GeminiJsonSchema, "aiplatform.googleapis.com"),
            (Provider::OpenAiResponses, "team.openai.azure.com"),
            (Provider::OpenAiResponses, "team.services.ai.azure.com"),
        ] {
            let own = image_urls(provider, "");
            let url = format!("https://{domain}/v1");
            assert!(!own.is_empty());
            assert_eq!(image_urls(provider, &url), own, "{url}");
        }
    }

    // M14
    #[test]
    fn a_server_with_the_name_of_a_cloud_loads_no_urls() {
        for (provider, domain) in [
            (Provider::Gemini, "aiplatform.googleapis.com.example"),
            (Provider::OpenAiResponses, "notopenai.azure.com"),
        ] {
            let url = format!("https://{domain}/v1");
            assert!(image_urls(provider, &url).is_empty(), "{url}");
        }
    }

    #[test]
    fn azures_responses_know_the_cache_key() {
        let azure = Host::at(Provider::OpenAiResponses, "https://team.openai.azure.com");
        assert!(azure.rules.takes_cache_key);
    }

    // M4
    #[test]
    fn a_switch_decides_before_the_table() {
        let host = |steps| Host::of(Provider::OpenAiChat).reasoning_back(steps);
        let step = RawTurn {
            provider: host(ReasoningBack::Always).turn_id(),
            items: Vec::new(),
        };
        let goes_back = |steps, in_turn| host(steps).native(Some(&step), in_turn).is_some();
        assert!(!goes_back(ReasoningBack::Never, true));
        assert!(
            goes_back(ReasoningBack::WithinTurn, true)
                && !goes_back(ReasoningBack::WithinTurn, false)
        );
        assert!(goes_back(ReasoningBack::Always, false));
    }
}

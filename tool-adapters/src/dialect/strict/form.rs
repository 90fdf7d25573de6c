//! What each provider's strict form knows.

use crate::Provider;

/// A strict form: what it enforces, and what it refuses.
#[allow(clippy::struct_excessive_bools)] // each is a rule of its own
pub(super) struct Form {
    /// Every property is required; one that may be left out is null instead.
    pub(super) all_required: bool,
    /// Schemas may refer to definitions, and to themselves.
    pub(super) references: bool,
    /// `minimum`, `maximum` and their like.
    pub(super) bounds: bool,
    /// `minItems` and `maxItems` of any number; otherwise only a `minItems` of 0 or 1.
    pub(super) lengths: bool,
    pub(super) pattern: fn(&str) -> bool,
    pub(super) formats: &'static [&'static str],
    /// Whether a tool is held to `OpenAI`'s limits.
    pub(super) limited: bool,
}

const OPEN_AI: Form = Form {
    all_required: true,
    references: true,
    bounds: true,
    lengths: true,
    pattern: has_no_lookaround,
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    limited: true,
};

/// References are written out: they may not lead back, and what is said beside one would be lost.
const ANTHROPIC: Form = Form {
    all_required: false,
    references: false,
    bounds: false,
    lengths: false,
    pattern: |_| false,
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    limited: false,
};

const COHERE: Form = Form { formats: &["date-time", "time", "date", "uuid"], ..ANTHROPIC };

impl Form {
    /// The form of a provider; nothing where it has none. Mistral's functions have a `strict` too, but nothing says
    /// which schemas it takes, so no tool could be known to be.
    pub(super) fn of(provider: Provider) -> Option<&'static Self> {
        match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => Some(&OPEN_AI),
            // Bedrock hands the schema on to the same compiler of grammars.
            Provider::Anthropic | Provider::Bedrock => Some(&ANTHROPIC),
            Provider::Cohere => Some(&COHERE),
            Provider::OpenAiRealtime
            | Provider::Gemini
            | Provider::GeminiJsonSchema
            | Provider::GeminiLive
            | Provider::Mistral
            | Provider::Ollama
            | Provider::Mcp => None,
        }
    }
}

/// Neither lookaround nor a reference to what was matched: no finite automaton has them.
fn has_no_lookaround(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let (_, found) = rest.split_at(at);
        let escaped = found.strip_prefix('\\');
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|start| found.starts_with(start))
            || escaped.is_some_and(|rest| rest.starts_with(|it: char| it == 'k' || it.is_ascii_digit() && it != '0'))
        {
            return false;
        }
        let mut letters = found.chars();
        letters.next();
        if escaped.is_some() {
            letters.next();
        }
        rest = letters.as_str();
    }
    true
}

//! What each provider's form can say: one table, which the walkers read.

use crate::Provider;
use crate::schema::Types;

/// The form of one provider.
pub(super) struct Rules {
    pub(super) form: Form,
    /// Property names that the provider takes; nothing where it takes any.
    pub(super) property_names: Option<Names>,
}

/// Names that a provider takes, and in words.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) takes: fn(&str) -> bool,
    pub(super) allowed: &'static str,
}

pub(super) enum Form {
    /// The schema as it is.
    AsIs,
    /// Nearly the schema: only the root has a form of its own.
    Whole,
    /// A few keywords only.
    Subset(&'static Subset),
}

/// A form that knows some keywords, beside those that make up its structure: `type`, `description`, `enum`, `items`,
/// `anyOf`, `properties` and `required`, which each of them has.
pub(super) struct Subset {
    /// Keywords that stay as they are.
    pub(super) keeps: &'static [&'static str],
    /// Types in upper case and one a schema, `nullable`, `propertyOrdering`, every array with `items`.
    pub(super) typed: bool,
    /// References stay, and their definitions under `$defs`; otherwise what they lead to stands in their place.
    pub(super) references: bool,
    /// `additionalProperties`.
    pub(super) maps: bool,
    /// The values that `enum` takes.
    pub(super) enums: Types,
    /// Whether it knows a format of a type.
    pub(super) formats: fn(Types, &str) -> bool,
}

const WHOLE: Rules = Rules { form: Form::Whole, property_names: None };

// The typed subset of OpenAPI. `anyOf` stands alone there ("when using any_of, it must be the only field set"), and a
// schema without a type is refused by the newer models.
const GEMINI: Subset = Subset {
    keeps: &[
        "title",
        "default",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "example",
    ],
    typed: true,
    references: false,
    maps: false,
    enums: Types::STRING,
    // Any other is answered with "only 'enum' and 'date-time' are supported for STRING type".
    formats: |types, format| match format {
        "float" | "double" => types == Types::NUMBER,
        "int32" | "int64" => types == Types::INTEGER,
        "date-time" | "enum" => types == Types::STRING,
        _ => false,
    },
};

const GEMINI_JSON: Subset = Subset {
    keeps: &["title", "format", "minimum", "maximum", "minItems", "maxItems"],
    typed: false,
    references: true,
    maps: true,
    enums: Types::STRING.or(Types::NUMBER),
    formats: |_, format| is_known_format(format),
};

/// What the server's own type of a tool has; it drops all else without a word.
const OLLAMA: Subset =
    Subset { keeps: &[], typed: false, references: false, maps: false, enums: Types::ALL, formats: |_, _| false };

impl Subset {
    /// Whether an object without properties is refused at the root.
    pub(super) fn leaves_out_empty(&self) -> bool {
        self.typed || self.maps
    }
}

impl Rules {
    pub(super) fn of(provider: Provider) -> &'static Self {
        match provider {
            Provider::Mcp => &Self { form: Form::AsIs, property_names: None },
            Provider::Gemini | Provider::GeminiLive => &Self { form: Form::Subset(&GEMINI), property_names: None },
            Provider::GeminiJsonSchema => &Self { form: Form::Subset(&GEMINI_JSON), property_names: None },
            Provider::Ollama => &Self { form: Form::Subset(&OLLAMA), property_names: None },
            Provider::Anthropic => &Self {
                form: Form::Whole,
                property_names: Some(Names { takes: is_anthropic_name, allowed: "^[a-zA-Z0-9_.-]{1,64}$" }),
            },
            Provider::OpenAiChat
            | Provider::OpenAiResponses
            | Provider::OpenAiRealtime
            | Provider::Bedrock
            | Provider::Mistral
            | Provider::Cohere => &WHOLE,
        }
    }
}

fn is_anthropic_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it))
}

/// Whether JSON Schema defines the format. Others, such as `uint64`, upset what compiles schemas to grammars.
pub(super) fn is_known_format(format: &str) -> bool {
    matches!(
        format,
        "date-time"
            | "date"
            | "time"
            | "duration"
            | "email"
            | "idn-email"
            | "hostname"
            | "idn-hostname"
            | "ipv4"
            | "ipv6"
            | "uri"
            | "uri-reference"
            | "iri"
            | "iri-reference"
            | "uuid"
            | "uri-template"
            | "json-pointer"
            | "relative-json-pointer"
            | "regex"
    )
}

//! What each provider's form can say: one table, which the walkers read.

use crate::providers::provider::Provider;
use crate::providers::schema::document::Draft;
use crate::providers::schema::types::Types;
use serde_json::Value;
use tool_core::schema::{SCHEMA_KEYWORDS as HOLDS_ONE, is_schema};

/// The form of one provider.
pub(crate) struct Rules {
    pub(crate) form: Form,
    /// Property names that the provider takes; nothing where it takes any.
    pub(crate) property_names: Option<Names>,
}

/// Names that a provider takes, and in words.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) takes: fn(&str) -> bool,
    pub(crate) allowed: &'static str,
}

pub(crate) enum Form {
    /// The schema as it is.
    AsIs,
    /// Nearly the schema: only the root has a form of its own.
    Whole,
    /// A few keywords only.
    Subset(&'static Subset),
}

/// A form that knows some keywords, beside those that make up its structure: `type`, `description`, `enum`, `items`,
/// `anyOf`, `properties` and `required`, which each of them has.
pub(crate) struct Subset {
    /// Keywords that stay as they are.
    pub(crate) keeps: &'static [&'static str],
    /// Types in upper case and one a schema, `nullable`, `propertyOrdering`, every array with `items`.
    pub(crate) typed: bool,
    /// References stay, and their definitions under `$defs`; otherwise what they lead to stands in their place.
    pub(crate) references: bool,
    /// `additionalProperties`.
    pub(crate) maps: bool,
    /// The values that `enum` takes.
    pub(crate) enums: Types,
    /// Whether it knows a format of a type.
    pub(crate) formats: fn(Types, &str) -> bool,
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
    pub(crate) fn leaves_out_empty(&self) -> bool {
        self.typed || self.maps
    }
}

impl Rules {
    pub(crate) fn of(provider: Provider) -> &'static Self {
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
pub(crate) fn is_known_format(format: &str) -> bool {
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

// ---- Whether a keyword's value can be that keyword's. One that cannot would have the provider refuse the whole request.

pub(crate) fn well_formed(keyword: &str, value: &Value, draft: Draft) -> bool {
    match keyword {
        "type" => Types::of_keyword(value).is_some_and(|types| types != Types::NONE),
        "minimum" | "maximum" => value.is_number(),
        "exclusiveMinimum" | "exclusiveMaximum" => value.is_number() || draft == Draft::D4 && value.is_boolean(),
        "multipleOf" => value.as_f64().is_some_and(|it| it > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => is_count(value),
        "pattern" | "format" | "title" | "description" | "contentEncoding" | "contentMediaType" | "$ref"
        | "$dynamicRef" => value.is_string(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "enum" | "examples" => value.is_array(),
        "required" => is_names(value),
        "items" => is_schema(value) || draft < Draft::D2020 && is_list(value),
        keyword if HOLDS_ONE.contains(&keyword) => is_schema(value),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => is_list(value),
        "properties" | "patternProperties" | "dependentSchemas" => is_named(value, is_schema),
        "dependentRequired" => is_named(value, is_names),
        "dependencies" => is_named(value, |it| is_schema(it) || is_names(it)),
        _ => true,
    }
}

fn is_count(value: &Value) -> bool {
    value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
}

fn is_named(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|map| map.values().all(fits))
}

//! `OpenAI`'s limits on the schema of a tool.

use crate::providers::provider::Provider;
use crate::providers::report::{NotStrict, Refusal};
use crate::providers::schema::document::for_each_child;
use crate::providers::schema::{Projection, project};
use crate::providers::strict::walk::Written;
use serde_json::{Map, Value};
use std::ops::Add;
use tool_core::ToolDefinition;

const LEVELS: usize = 10;
const PROPERTIES: usize = 5_000;
const ENUM_VALUES: usize = 1_000;
const CHARACTERS: usize = 120_000;
/// An enum with more values than this may not be long in all.
const LONG_ENUM: usize = 250;
const LONG_ENUM_CHARACTERS: usize = 15_000;

#[derive(Default)]
struct Counts {
    properties: usize,
    enum_values: usize,
    characters: usize,
    longest_enum: usize,
}

pub(crate) fn check(root: &Written) -> Result<(), NotStrict> {
    let mut counts = Counts::default();
    count(root, &mut counts);
    let levels = levels(&Value::Object(root.clone()));
    let limits = [
        ("levels", levels, LEVELS),
        ("properties", counts.properties, PROPERTIES),
        ("enum values", counts.enum_values, ENUM_VALUES),
        ("characters of names and enum values", counts.characters, CHARACTERS),
        ("characters of one enum", counts.longest_enum, LONG_ENUM_CHARACTERS),
    ];
    let over = limits.into_iter().find(|(_, found, most)| found > most);
    over.map_or(Ok(()), |(what, found, most)| Err(NotStrict::Limit { what, found, most }))
}

fn count(schema: &Map<String, Value>, counts: &mut Counts) {
    let names = |keyword: &str| schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let characters = |text: &str| text.chars().count();
    counts.properties += names("properties").count();
    counts.characters += names("properties").chain(names("$defs")).map(|name| characters(name)).sum::<usize>();
    let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let length = values.iter().chain(schema.get("const")).filter_map(Value::as_str).map(characters).sum();
    counts.enum_values += values.len();
    counts.characters += length;
    if values.len() > LONG_ENUM {
        counts.longest_enum = counts.longest_enum.max(length);
    }
    for_each_child(schema, "", &mut |child| {
        if let Value::Object(schema) = child.schema {
            count(schema, counts);
        }
    });
}

/// The objects and arrays that stand inside each other, with what is referred to; a schema that refers to itself
/// counts once.
fn levels(root: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 0, Vec::<&str>::new())];
    while let Some((schema, above, followed)) = open.pop() {
        let Some(map) = schema.as_object() else { continue };
        let own = map.contains_key("properties") || map.contains_key("items");
        let level = above + usize::from(own);
        deepest = deepest.max(level);
        if deepest > LEVELS {
            break;
        }
        if let Some(name) = map.get("$ref").and_then(Value::as_str)
            && !followed.contains(&name)
            && let Some(target) = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
        {
            let followed = followed.iter().copied().chain([name]).collect();
            open.push((target, level, followed));
        }
        for_each_child(map, "", &mut |child| {
            if child.keyword != "$defs" {
                open.push((child.schema, level, followed.clone()));
            }
        });
    }
    deepest
}

// ---- What a request may hold that is strict.

type Projected = Result<Projection, Refusal>;

/// Leaves as many tools strict as the provider takes in one request.
pub(crate) fn fit(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    match provider {
        // Bedrock hands them on to the same compiler.
        Provider::Anthropic | Provider::Bedrock => greedy(provider, tools, projected),
        Provider::Cohere => all_or_none(provider, tools, projected),
        _ => {}
    }
}

/// What a tool takes of the budget.
#[derive(Clone, Copy, Default)]
struct Cost {
    tools: usize,
    optional: usize,
    unions: usize,
}

const ANTHROPIC_BUDGET: Cost = Cost { tools: 20, optional: 24, unions: 16 };

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tools: self.tools + other.tools,
            optional: self.optional + other.optional,
            unions: self.unions + other.unions,
        }
    }
}

impl Cost {
    fn of(schema: &Value) -> Self {
        let mut cost = Self { tools: 1, ..Self::default() };
        if let Value::Object(schema) = schema {
            cost.count(schema);
        }
        cost
    }

    fn count(&mut self, schema: &Map<String, Value>) {
        let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        let named = schema.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        self.optional += named.saturating_sub(required);
        let union = schema.contains_key("anyOf") || schema.get("type").is_some_and(Value::is_array);
        self.unions += usize::from(union);
        for_each_child(schema, "", &mut |child| {
            if let Value::Object(schema) = child.schema {
                self.count(schema);
            }
        });
    }

    fn over(self) -> Option<NotStrict> {
        let counts = [
            ("strict tools in the request", self.tools, ANTHROPIC_BUDGET.tools),
            ("optional parameters in the strict tools of the request", self.optional, ANTHROPIC_BUDGET.optional),
            ("parameters of union types in the strict tools of the request", self.unions, ANTHROPIC_BUDGET.unions),
        ];
        let over = counts.into_iter().find(|(_, found, most)| found > most);
        over.map(|(what, found, most)| NotStrict::Limit { what, found, most })
    }
}

/// In the order of the tools: one that does not fit is not strict, a later one that does is.
fn greedy(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    let mut spent = Cost::default();
    for (tool, projected) in tools.iter().zip(projected) {
        let Ok(projection) = projected else { continue };
        if projection.not_strict.is_some() {
            continue;
        }
        let with = spent + Cost::of(&projection.schema);
        match with.over() {
            None => spent = with,
            Some(why) => *projected = loose(provider, tool, why),
        }
    }
}

/// Cohere's limits, of a tool and of the request.
const FIELDS: usize = 200;

fn all_or_none(provider: Provider, tools: &[ToolDefinition], projected: &mut [Projected]) {
    let mut fields = 0;
    for projected in projected.iter_mut().flatten() {
        if projected.not_strict.is_none() && projected.schema.get("required").is_none() {
            projected.not_strict = Some(NotStrict::NothingRequired);
        }
        fields += count_fields(&projected.schema);
    }
    let reasons = projected.iter().map(|it| it.as_ref().ok().map(|it| it.not_strict.is_some())).collect::<Vec<_>>();
    let mut failing = tools.iter().zip(&reasons).filter(|(_, failed)| **failed == Some(true)).map(|(tool, _)| tool);
    let why = match failing.next() {
        Some(tool) => NotStrict::OtherTool { tool: tool.name().to_owned() },
        None if fields > FIELDS => {
            NotStrict::Limit { what: "parameters in the tools of the request", found: fields, most: FIELDS }
        }
        None => return,
    };
    for (tool, projected) in tools.iter().zip(projected) {
        let Ok(projection) = projected else { continue };
        let why = projection.not_strict.take().unwrap_or_else(|| why.clone());
        *projected = loose(provider, tool, why);
    }
}

fn count_fields(schema: &Value) -> usize {
    let Value::Object(map) = schema else { return 0 };
    let mut fields = map.get("properties").and_then(Value::as_object).map_or(0, Map::len);
    for_each_child(map, "", &mut |child| fields += count_fields(child.schema));
    fields
}

/// The tool as it is declared when it is not strict.
fn loose(provider: Provider, tool: &ToolDefinition, why: NotStrict) -> Projected {
    project(provider, tool.parameters(), false).map(|plain| Projection { not_strict: Some(why), ..plain })
}

// ---- What each provider's strict form knows.

/// A strict form: what it enforces, and what it refuses.
#[allow(clippy::struct_excessive_bools)] // each is a rule of its own
pub(crate) struct Form {
    /// Every property is required; one that may be left out is null instead.
    pub(crate) all_required: bool,
    /// Schemas may refer to definitions, and to themselves.
    pub(crate) references: bool,
    /// `minimum`, `maximum` and their like.
    pub(crate) bounds: bool,
    /// `minItems` and `maxItems` of any number; otherwise only a `minItems` of 0 or 1.
    pub(crate) lengths: bool,
    pub(crate) pattern: fn(&str) -> bool,
    pub(crate) formats: &'static [&'static str],
    /// Whether a tool is held to `OpenAI`'s limits.
    pub(crate) limited: bool,
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
    pub(crate) fn of(provider: Provider) -> Option<&'static Self> {
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

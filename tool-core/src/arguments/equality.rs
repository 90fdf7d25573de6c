//! The rules by which arguments of a tool are equal. Equal arguments have one canonical text, and
//! one hash.

use crate::json::canonical::canonical_exact;
use crate::json::decoder::Decoder;
use crate::json::error::Error;
use crate::json::number::{ParsedNumber, exact_float, unheld};
use crate::json::value;
use crate::json::value::RoundedNumbers;
use crate::schema::build::CanonicalSchema;
use crate::schema::compiled::CompiledSchema;
use crate::schema::evaluation::Evaluation;
use crate::schema::nullable::{NullMeaning, is_null_only};
use crate::schema::parameter::Parameter;
use crate::schema::walk;
use foldhash::fast::{FoldHasher, RandomState};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// The rules by which the arguments of one tool are equal: names, aliases, and the meaning of an
/// absent parameter.
pub(crate) struct EqualityRules {
    parameters: Vec<EqualityRule>,
    /// The positions of the parameters by their names and aliases, where there are so many that a
    /// search through all for each member of a call would take long.
    positions: Option<HashMap<String, usize>>,
}

/// The rules of arguments that are taken as they were sent, without any default.
pub(crate) static AS_SENT: EqualityRules = EqualityRules {
    parameters: Vec::new(),
    positions: None,
};

/// The number of rules up to which a search through all is fast.
const FEW: usize = 128;

/// The rules for one parameter.
struct EqualityRule {
    name: String,
    aliases: &'static [&'static str],
    null_is_absent: bool,
    /// The value that an absent parameter equals, if there is one.
    default: Option<Value>,
    /// The hash of the parameter with its default, and 0 without one.
    default_hash: u64,
}

impl EqualityRule {
    fn new(
        name: &str,
        aliases: &'static [&'static str],
        null_is_absent: bool,
        default: Option<Value>,
    ) -> Self {
        let hash = |default: &Value| hash_entry(name, &mut Decoder::new(&default.to_string())).ok();
        let default_hash = default.as_ref().and_then(hash).unwrap_or(0);
        Self {
            name: name.to_owned(),
            aliases,
            null_is_absent,
            default,
            default_hash,
        }
    }
}

impl EqualityRules {
    fn new(parameters: Vec<EqualityRule>) -> Self {
        let index = || {
            let mut positions = HashMap::new();
            for (position, rule) in parameters.iter().enumerate() {
                positions.insert(rule.name.clone(), position);
                for alias in rule.aliases {
                    positions.insert((*alias).to_owned(), position);
                }
            }
            positions
        };
        Self {
            positions: (parameters.len() > FEW).then(index),
            parameters,
        }
    }

    /// Returns the rules of a signature. The schema holds the defaults of an instance and the
    /// computed ones as well.
    pub(crate) fn of_signature(parameters: &[Parameter], schema: &CanonicalSchema) -> Self {
        let named = parameters
            .iter()
            .enumerate()
            .filter(|(_, parameter)| !parameter.flatten);
        let rule = |(index, parameter): (usize, &Parameter)| {
            let null_is_absent = schema.fields.get(index).is_some_and(|field| {
                matches!(field.null, NullMeaning::Absent | NullMeaning::Coerced)
            });
            let default = schema
                .value
                .get("properties")
                .and_then(|all| all.get(parameter.name)?.get("default"));
            // A null that counts as absent is no default.
            let default = default
                .filter(|default| !(null_is_absent && default.is_null()))
                .cloned();
            EqualityRule::new(parameter.name, parameter.aliases, null_is_absent, default)
        };
        let mut rules: Vec<_> = named.map(rule).collect();
        if parameters.iter().any(|parameter| parameter.flatten) {
            // A type that may be absent as a whole has no defaults then.
            let may_be_absent = parameters
                .iter()
                .zip(&schema.fields)
                .filter(|(row, _)| row.flatten && (row.optional)())
                .filter_map(|(_, field)| field.flattened.as_ref())
                .collect::<Vec<_>>();
            let has_default = |rule: &EqualityRule| {
                let default = rule.default.as_ref();
                default.is_some_and(|default| !default.is_null())
                    && !may_be_absent
                        .iter()
                        .any(|own| own.names.contains(&rule.name))
            };
            let is_flattened = |rule: &EqualityRule| {
                parameters
                    .iter()
                    .all(|parameter| parameter.flatten || parameter.name != rule.name)
            };

            // Only the schema knows what a flattened type adds.
            let published = Self::of_schema(&schema.value).parameters.into_iter();
            rules.extend(published.filter(|rule| is_flattened(rule) && has_default(rule)));
        }
        Self::new(rules)
    }

    /// Returns the rules of a schema given at run time, which may hold a default that it would not
    /// accept.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        let none = Self::new(Vec::new());
        let declared = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values);
        // Few schemas have defaults, and only those are compiled.
        if declared
            .into_iter()
            .all(|property| property.get("default").is_none())
        {
            return none;
        }
        let Ok(compiled) = CompiledSchema::new(schema) else {
            return none;
        };
        let properties = compiled
            .root()
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let rule = |(name, property): (&String, &Value)| {
            let default = property.get("default")?;
            let is_accepted = Evaluation::new(&compiled)
                .accepts_by(property, default)
                .unwrap_or(false);
            is_accepted.then(|| EqualityRule::new(name, &[], false, Some(default.clone())))
        };
        Self::new(properties.filter_map(rule).collect())
    }

    /// Returns the rule for a member of a call.
    fn rule(&self, key: &str) -> Option<&EqualityRule> {
        if let Some(positions) = &self.positions {
            return self.parameters.get(*positions.get(key)?);
        }
        self.parameters
            .iter()
            .find(|rule| rule.name == key || rule.aliases.contains(&key))
    }

    /// Hashes a call with accepted arguments, with the defaults filled in, under a random key of
    /// this process. Fails on text that is not a JSON object.
    pub(crate) fn hash(&self, tool: &str, text: &str) -> Result<u64, Error> {
        let mut decoder = Decoder::new(text);
        decoder.begin_object()?;
        // The hashes of the entries are added up, so that their order does not matter.
        let defaults = self.parameters.iter().map(|rule| rule.default_hash);
        let mut sum = defaults.fold(0, u64::wrapping_add);
        let mut first = true;
        while let Some(key) = decoder.next_key(std::mem::take(&mut first))? {
            match self.rule(&key) {
                Some(rule) if rule.null_is_absent && decoder.take_null()? => {}
                Some(rule) => {
                    let given = hash_entry(&rule.name, &mut decoder)?;
                    sum = sum.wrapping_add(given).wrapping_sub(rule.default_hash);
                }
                None => sum = sum.wrapping_add(hash_entry(&key, &mut decoder)?),
            }
        }
        decoder.end()?;
        Ok(KEY.hash_one((tool, sum)))
    }

    /// Returns the canonical JSON of accepted arguments, with the defaults filled in. A call is
    /// recognised by it. Decoded again it gives the same arguments. Text that is not a JSON object is
    /// returned as it is.
    pub(crate) fn canonical_text(&self, text: &str) -> String {
        self.canonical_of(text, |_, _| {})
    }

    /// Returns the canonical JSON of arguments to which a person agrees. Each number is the one
    /// that the tool receives.
    pub(crate) fn approved_text(&self, text: &str, schema: &Value) -> String {
        self.canonical_of(text, |value, digits| receive(value, digits, schema, schema))
    }

    fn canonical_of(
        &self,
        text: &str,
        change: impl FnOnce(&mut Value, &mut RoundedNumbers),
    ) -> String {
        let Ok(parsed) = value::parse(text) else {
            return text.to_owned();
        };
        let Value::Object(mut members) = parsed.value else {
            return text.to_owned();
        };
        if !parsed.duplicates.is_empty() {
            return text.to_owned();
        }
        let mut rounded = parsed.rounded;
        self.fill(&mut members, &mut rounded);
        let mut value = Value::Object(members);
        change(&mut value, &mut rounded);
        canonical_exact(&value, &rounded)
    }

    fn fill(&self, members: &mut Map<String, Value>, rounded: &mut RoundedNumbers) {
        for rule in &self.parameters {
            for alias in rule.aliases {
                let Some(value) = members.remove(*alias) else {
                    continue;
                };
                members.insert(rule.name.clone(), value);
                rounded.rename(alias, &rule.name);
            }
            if rule.null_is_absent && members.get(&rule.name).is_some_and(Value::is_null) {
                members.remove(&rule.name);
            }
            if let (Some(default), false) = (&rule.default, members.contains_key(&rule.name)) {
                members.insert(rule.name.clone(), default.clone());
            }
        }
    }
}

/// Replaces each number by the one that its type reads: where the schema says `number`, the nearest
/// float. Members of a choice between types keep their digits. The recursion is bounded by the
/// depth of arguments.
fn receive(value: &mut Value, digits: &mut RoundedNumbers, schema: &Value, root: &Value) {
    let schema = match walk::follow(root, schema) {
        Value::Object(map) => match walk::branches(map, "anyOf").collect::<Vec<_>>().as_slice() {
            [some, none] | [none, some] if is_null_only(none) => walk::follow(root, some),
            _ => walk::follow(root, schema),
        },
        other => other,
    };
    let Some(map) = schema
        .as_object()
        .filter(|map| !map.keys().all(|keyword| walk::is_annotation(keyword)))
    else {
        // A `Value` holds what is here.
        *digits = RoundedNumbers::None;
        return;
    };
    match value {
        Value::Number(number) if walk::type_names(map).any(|name| name == "number") => {
            *digits = RoundedNumbers::None;
            *number = number
                .as_f64()
                .and_then(Number::from_f64)
                .unwrap_or_else(|| number.clone());
        }
        Value::Array(items) => {
            for (position, item) in items.iter_mut().enumerate() {
                let first = map.get("prefixItems").and_then(|first| first.get(position));
                let Some(schema) = first.or_else(|| map.get("items")) else {
                    continue;
                };
                digits.change(
                    || position.to_string(),
                    |inside| receive(item, inside, schema, root),
                );
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let property = map.get("properties").and_then(|all| all.get(name));
                let Some(schema) = property.or_else(|| map.get("additionalProperties")) else {
                    continue;
                };
                digits.change(
                    || name.clone(),
                    |inside| receive(member, inside, schema, root),
                );
            }
        }
        _ => {}
    }
}

/// A random key of this process. A model that does not know it cannot choose different arguments
/// with equal hashes.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Hashes a call whose text was not accepted.
pub(crate) fn hash_opaque(tool: &str, text: &str) -> u64 {
    KEY.hash_one((tool, text))
}

/// Hashes a key and the value that comes next.
fn hash_entry(key: &str, decoder: &mut Decoder<'_>) -> Result<u64, Error> {
    let mut hasher = KEY.build_hasher();
    hash_string(key, &mut hasher);
    hash_value(decoder, &mut hasher)?;
    Ok(hasher.finish())
}

/// Hashes the value that comes next. Each kind of value begins with another byte. [`Decoder::open`]
/// bounds the recursion.
fn hash_value(decoder: &mut Decoder<'_>, hasher: &mut FoldHasher<'_>) -> Result<(), Error> {
    let byte = decoder.peek();
    if matches!(byte, b'-' | b'0'..=b'9') {
        return hash_number(decoder, hasher);
    }
    hasher.write_u8(byte);
    match byte {
        b'"' => hash_string(&decoder.string()?, hasher),
        b'{' => {
            decoder.open()?;
            let mut sum = 0_u64;
            let mut first = true;
            while let Some(key) = decoder.next_key(std::mem::take(&mut first))? {
                sum = sum.wrapping_add(hash_entry(&key, decoder)?);
            }
            hasher.write_u64(sum);
        }
        b'[' => {
            decoder.open()?;
            let mut first = true;
            while decoder.next_element(std::mem::take(&mut first))? {
                hash_value(decoder, hasher)?;
            }
            hasher.write_u8(b']');
        }
        b't' => decoder.literal("true")?,
        b'f' => decoder.literal("false")?,
        _ => decoder.literal("null")?,
    }
    Ok(())
}

/// Hashes a number by its value, as in the canonical text.
fn hash_number(decoder: &mut Decoder<'_>, hasher: &mut FoldHasher<'_>) -> Result<(), Error> {
    let start = decoder.place();
    let number = decoder.number()?;
    let whole = match number {
        ParsedNumber::Unsigned(value) => Some(value.into()),
        ParsedNumber::Signed(value) => Some(value.into()),
        ParsedNumber::Big(value) | ParsedNumber::Float(value) | ParsedNumber::Rounded(value) => {
            if let Some(digits) = unheld(number, decoder.text_since(start)) {
                hasher.write_u8(b'#');
                hash_string(&digits, hasher);
                return Ok(());
            }
            let whole = exact_float(value);
            if whole.is_none() {
                hasher.write_u8(b'.');
                hasher.write_u64(value.to_bits());
            }
            whole
        }
    };
    if let Some(whole) = whole {
        hasher.write_u8(b'0');
        hasher.write_i128(whole);
    }
    Ok(())
}

/// Hashes a string with an end that no string contains.
fn hash_string(text: &str, hasher: &mut FoldHasher<'_>) {
    hasher.write(text.as_bytes());
    hasher.write_u8(0xFF);
}

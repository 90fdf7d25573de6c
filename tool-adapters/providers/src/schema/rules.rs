//! The schemas that a provider accepts, as data that the projection reads, and sets of types.

use crate::report::ChangeLog;
use crate::schema::words::DroppedKeyword;
use bitflags::bitflags;
use serde_json::Value;
use tool_core::schema::{SCHEMA_KEYWORDS, is_schema};

/// The names of properties that a provider accepts.
#[derive(Clone, Copy)]
pub(crate) struct PropertyNames {
    pub(crate) accepts: fn(&str) -> bool,
    /// The pattern of the names, for messages.
    pub(crate) pattern: &'static str,
}

impl PropertyNames {
    /// The rule of Anthropic's models, which other hosts of them have too.
    pub(crate) const ANTHROPIC: Self = Self {
        accepts: is_anthropic_name,
        pattern: "^[a-zA-Z0-9_.-]{1,64}$",
    };
}

fn is_anthropic_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it))
}

/// The schemas that one provider accepts.
#[derive(Clone, Copy)]
pub(crate) enum SchemaForm {
    /// Any schema of an object.
    AsIs,
    /// Nearly any schema, with a restricted root.
    Whole(&'static WholeSchema),
    /// Schemas of a few keywords.
    Subset(&'static SchemaSubset),
}

/// A form with nearly all keywords.
pub(crate) struct WholeSchema {
    /// The keywords that the provider refuses: assertions and annotations. The description has them
    /// instead, except for `const` and `oneOf`, which become `enum` and `anyOf`.
    pub(crate) refuses: &'static [&'static str],
}

impl WholeSchema {
    /// The form without refused keywords.
    pub(crate) const ANY: Self = Self { refuses: &[] };
}

/// A form with a few keywords besides `type`, `description`, `enum`, `items`, `anyOf`, `properties`
/// and `required`.
pub(crate) struct SchemaSubset {
    /// The further keywords.
    pub(crate) keeps: &'static [&'static str],
    /// True for one type a schema in upper case, `nullable`, `propertyOrdering`, and `items` in
    /// every array.
    pub(crate) typed: bool,
    /// True for references to `$defs`. Without them the target replaces the reference.
    pub(crate) references: bool,
    /// True for `additionalProperties`.
    pub(crate) maps: bool,
    /// The types of values that `enum` accepts.
    pub(crate) enums: TypeSet,
    /// Returns true for a `format` that the types of a schema may have.
    pub(crate) formats: fn(TypeSet, &str) -> bool,
    /// The limits of a server that makes a grammar of the schema; `None` for another server.
    pub(crate) grammar: Option<&'static GrammarRules>,
}

/// Returns true if the keyword may have the value. A provider would refuse the whole request for
/// another value.
pub(crate) fn is_well_formed(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => TypeSet::of_keyword(value).is_some_and(|types| types != TypeSet::NONE),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|it| it > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => is_count(value),
        "pattern" | "format" | "title" | "description" | "contentEncoding" | "contentMediaType"
        | "$ref" | "$dynamicRef" => value.is_string(),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "enum" | "examples" => value.is_array(),
        "required" => is_name_list(value),
        keyword if SCHEMA_KEYWORDS.contains(&keyword) => is_schema(value),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => is_schema_list(value),
        "properties" | "patternProperties" | "dependentSchemas" => is_map_of(value, is_schema),
        "dependentRequired" => is_map_of(value, is_name_list),
        _ => true,
    }
}

/// Returns false for a keyword that no form has, and reports it: one with a value that it may not
/// have, or one that only
/// [restates the width](restates_width) of a number's type, unless widths are kept.
pub(crate) fn is_meant(
    log: &mut ChangeLog,
    pointer: &str,
    (keyword, value): DroppedKeyword<'_>,
    keeps_widths: bool,
) -> bool {
    if !is_well_formed(keyword, value) {
        log.dropped(pointer, keyword, "the keyword may not have this value");
        return false;
    }
    if !keeps_widths && restates_width(keyword, value) {
        let detail = "the bound of the number's type is left out; a call beyond it is refused";
        log.rewritten(pointer, keyword, detail);
        return false;
    }
    true
}

/// Leaves the values of the types, and the types of the values.
pub(crate) fn narrow_to_each_other(values: &mut Vec<&Value>, types: &mut TypeSet) {
    values.retain(|value| types.contains(TypeSet::of_value(value)));
    *types &= values
        .iter()
        .map(|value| TypeSet::of_value(value))
        .collect::<TypeSet>();
}

/// Returns true for a bound that only restates the width of a numeric type of 32 bits or more. A
/// minimum of 0 tells a model more.
fn restates_width(keyword: &str, value: &Value) -> bool {
    // JavaScript has all integers up to 2^53 - 1, and its schema libraries write that for any
    // integer.
    const LOWEST: [i64; 3] = [-2_147_483_648, i64::MIN, -9_007_199_254_740_991];
    const HIGHEST: [u64; 5] = [
        2_147_483_647,
        4_294_967_295,
        9_223_372_036_854_775_807,
        u64::MAX,
        9_007_199_254_740_991,
    ];
    const TWO_127: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    let is_float = |bounds: &[f64]| {
        value.is_f64() && value.as_f64().is_some_and(|bound| bounds.contains(&bound))
    };
    let float = f64::from(f32::MAX);
    match keyword {
        "minimum" | "exclusiveMinimum" => {
            value.as_i64().is_some_and(|bound| LOWEST.contains(&bound))
                || is_float(&[-float, -TWO_127])
        }
        "maximum" | "exclusiveMaximum" => {
            value.as_u64().is_some_and(|bound| HIGHEST.contains(&bound))
                || is_float(&[float, TWO_127, 2.0 * TWO_127])
        }
        _ => false,
    }
}

fn is_count(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

fn is_name_list(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_schema_list(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| !list.is_empty() && list.iter().all(is_schema))
}

fn is_map_of(value: &Value, accepts: impl Fn(&Value) -> bool) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.values().all(accepts))
}

bitflags! {
    /// A set of types. Numbers are two members, integers and others, as `number` includes integers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct TypeSet: u8 {
        const NULL = 1;
        const BOOLEAN = 1 << 1;
        const INTEGER = 1 << 2;
        const NUMBER = 1 << 2 | 1 << 3;
        const STRING = 1 << 4;
        const ARRAY = 1 << 5;
        const OBJECT = 1 << 6;
    }
}

impl TypeSet {
    pub(crate) const NONE: Self = Self::empty();
    pub(crate) const ALL: Self = Self::all();

    /// The types by name, in the order in which they are written.
    const NAMES: [(&'static str, Self); 6] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("boolean", Self::BOOLEAN),
        ("object", Self::OBJECT),
        ("array", Self::ARRAY),
        ("null", Self::NULL),
    ];

    /// Reads the `type` of a schema; all types if it has none.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        schema
            .get("type")
            .and_then(Self::of_keyword)
            .unwrap_or(Self::ALL)
    }

    /// Reads the value of a `type` keyword; `None` if it has an unknown name.
    pub(crate) fn of_keyword(value: &Value) -> Option<Self> {
        match value {
            Value::String(name) => Self::of_name(name),
            Value::Array(names) => names.iter().try_fold(Self::NONE, |all, name| {
                Some(all.union(Self::of_name(name.as_str()?)?))
            }),
            _ => None,
        }
    }

    /// Returns the type of a value. `1.0` is an integer, as in JSON Schema.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number)
                if number.is_f64() && number.as_f64().is_some_and(|it| it.fract() != 0.0) =>
            {
                Self::NUMBER.difference(Self::INTEGER)
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        if name == "integer" {
            return Some(Self::INTEGER);
        }
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, types)| *types)
    }

    /// Returns the types that a keyword constrains; all types for a keyword that is not about some.
    pub(crate) fn of_assertion(keyword: &str) -> Self {
        match keyword {
            "minLength" | "maxLength" | "pattern" => Self::STRING,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                Self::NUMBER
            }
            "items" | "prefixItems" | "minItems" | "maxItems" => Self::ARRAY,
            "properties"
            | "required"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "patternProperties"
            | "minProperties"
            | "maxProperties" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    /// Returns the types one by one, each as narrow as JSON Schema can name it.
    pub(crate) fn each(self) -> impl Iterator<Item = (&'static str, Self)> {
        Self::NAMES
            .into_iter()
            .filter_map(move |(name, types)| match self & types {
                Self::NONE => None,
                Self::INTEGER => Some(("integer", Self::INTEGER)),
                _ => Some((name, types)),
            })
    }

    /// Returns the name of a set of one type.
    pub(crate) fn name(self) -> Option<&'static str> {
        let mut each = self.each();
        let (name, _) = each.next()?;
        each.next().is_none().then_some(name)
    }

    /// Returns the value of the `type` keyword; `None` for all types and for none.
    pub(crate) fn to_keyword(self) -> Option<Value> {
        if self == Self::ALL || self == Self::NONE {
            return None;
        }
        Some(
            self.name()
                .map_or_else(|| self.each().map(|(name, _)| name).collect(), Value::from),
        )
    }
}

/// The limits of a server that makes grammars.
pub(crate) struct GrammarRules {
    /// The largest `minLength` and `maxLength`.
    pub(crate) max_length: u64,
    /// The largest `minItems` and `maxItems`.
    pub(crate) max_items: u64,
    /// True for bounds of numbers that are not integers.
    pub(crate) number_bounds: bool,
    /// True if `{}` means an object, so that a schema for any value has to list the types.
    pub(crate) lists_any: bool,
}

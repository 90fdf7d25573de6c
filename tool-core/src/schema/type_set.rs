//! Sets of JSON types.

use crate::schema::walk;
use serde_json::{Map, Value};

/// A set of JSON types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const BOOLEAN: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    /// A number that need not be an integer.
    pub(crate) const FRACTION: Self = Self(4);
    pub(crate) const STRING: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    const NULL: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);
    /// The types, each in a set of its own.
    pub(crate) const EACH: [Self; 7] = [
        Self::NULL,
        Self::BOOLEAN,
        Self::INTEGER,
        Self::FRACTION,
        Self::STRING,
        Self::ARRAY,
        Self::OBJECT,
    ];

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the types that the `type` of a schema allows.
    pub(crate) fn of_schema(schema: &Map<String, Value>) -> Self {
        if schema.contains_key("type") {
            Self::any(walk::type_names(schema).map(Self::named))
        } else {
            Self::ALL
        }
    }

    /// Returns the types of some values. Each number counts as an integer and as a fraction,
    /// because a text may spell it either way.
    pub(crate) fn of_values(values: &[Value]) -> Self {
        Self::any(values.iter().map(|value| match value {
            Value::Number(_) => Self::named("number"),
            value => Self::of(value),
        }))
    }

    /// Returns the type of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_i64() || number.is_u64() => Self::INTEGER,
            // 5.0 is an integer, also beyond 128 bits.
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => {
                Self::INTEGER
            }
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the types in both sets.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn named(name: &str) -> Self {
        match name {
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self(Self::INTEGER.0 | Self::FRACTION.0),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            "null" => Self::NULL,
            _ => Self::ALL,
        }
    }

    fn any(types: impl Iterator<Item = Self>) -> Self {
        types.fold(Self(0), |all, next| Self(all.0 | next.0))
    }
}

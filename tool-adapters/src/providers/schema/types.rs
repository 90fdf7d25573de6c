//! Sets of the types of JSON Schema.

use serde_json::Value;

/// A set of types. `number` takes integers too, so numbers are two members: whole ones and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const NUMBER: Self = Self(1 << 2 | 1 << 3);
    pub(crate) const STRING: Self = Self(1 << 4);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const OBJECT: Self = Self(1 << 6);
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self((1 << 7) - 1);

    /// By name, in the order in which they are written.
    const NAMES: [(&'static str, Self); 6] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("boolean", Self::BOOLEAN),
        ("object", Self::OBJECT),
        ("array", Self::ARRAY),
        ("null", Self::NULL),
    ];

    /// What the `type` keyword says; nothing where it names a type that there is not.
    pub(crate) fn of_keyword(value: &Value) -> Option<Self> {
        match value {
            Value::String(name) => Self::of_name(name),
            Value::Array(names) => {
                names.iter().try_fold(Self::NONE, |all, name| Some(all | Self::of_name(name.as_str()?)?))
            }
            _ => None,
        }
    }

    /// The type of a value. `1.0` is an integer, as in JSON Schema.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() && number.as_f64().is_some_and(|it| it.fract() != 0.0) => {
                Self(1 << 3)
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
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
    }

    /// Both, where a constant is needed.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are in it.
    pub(crate) fn contains(self, other: Self) -> bool {
        self & other == other
    }

    /// Whether the two have a type in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self & other != Self::NONE
    }

    /// It without `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The types one by one, each as narrow as JSON Schema can name it.
    pub(crate) fn each(self) -> impl Iterator<Item = (&'static str, Self)> {
        Self::NAMES.into_iter().filter_map(move |(name, one)| match self & one {
            Self::NONE => None,
            Self::INTEGER => Some(("integer", Self::INTEGER)),
            _ => Some((name, one)),
        })
    }

    /// The name where it is one type.
    pub(crate) fn name(self) -> Option<&'static str> {
        let mut each = self.each();
        let (name, _) = each.next()?;
        each.next().is_none().then_some(name)
    }

    /// The value of the `type` keyword that says it; nothing where it is every type or none.
    pub(crate) fn to_keyword(self) -> Option<Value> {
        if self == Self::ALL || self == Self::NONE {
            return None;
        }
        Some(self.name().map_or_else(|| self.each().map(|(name, _)| name).collect(), Value::from))
    }
}

impl std::ops::BitAnd for Types {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

//! The parameter table that `#[tool]` writes.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

/// A row of the parameter table.
///
/// The table is constant data. Schemas are built from it at run time, so that the expansion stays
/// small.
#[derive(Clone, Copy)]
#[must_use]
pub struct Parameter {
    /// The name in JSON.
    pub name: &'static str,
    /// Further names that decode into the same parameter.
    pub aliases: &'static [&'static str],
    /// The description for the model; may be empty.
    pub description: &'static str,
    /// The schema of the parameter's own type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Returns true if the type decodes when the parameter is absent, as `Option<T>` does.
    pub optional: fn() -> bool,
    /// The default.
    pub default: DefaultValue,
    /// The constraints of `#[arg]`.
    pub constraints: &'static [Constraint],
    /// Functions that return example values.
    pub examples: &'static [fn() -> Value],
    /// True if the type's properties are properties of the tool.
    pub flatten: bool,
}

/// A row of the parameter table with what its functions returned.
pub(crate) struct ResolvedParameter {
    pub(crate) row: Parameter,
    /// The schema as schemars wrote it.
    pub(crate) schema: Value,
    /// True if the type decodes when the parameter is absent.
    pub(crate) optional: bool,
    /// The value of the default, if there is one.
    pub(crate) default: Option<Value>,
    /// Example values.
    pub(crate) examples: Vec<Value>,
}

impl ResolvedParameter {
    /// Calls the functions of a row. `instance_default` is the value of a default over `self`.
    pub(crate) fn new(
        row: Parameter,
        instance_default: Option<Value>,
        generator: &mut SchemaGenerator,
    ) -> Self {
        let default = instance_default.or_else(|| match row.default {
            DefaultValue::Literal(text) => Some(literal_value(text)),
            DefaultValue::Computed(make) => Some(make()),
            DefaultValue::None | DefaultValue::Instance => None,
        });
        let schema = (row.schema)(generator).to_value();
        let optional = (row.optional)();
        Self {
            row,
            schema,
            optional,
            default,
            examples: row.examples.iter().map(|make| make()).collect(),
        }
    }
}

/// Returns the value of a literal. The macro wrote its JSON text, so it parses; a `null` fails the
/// check of the parameter's type.
#[must_use]
pub fn literal_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The source of a parameter's default.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// No default.
    None,
    /// The JSON text of a literal.
    Literal(&'static str),
    /// An expression, evaluated when the tool is made.
    Computed(fn() -> Value),
    /// An expression over `self`. The tool's definition holds its value for the instance.
    Instance,
}

/// A constraint of `#[arg]` on a parameter. On an array, all but `Items` are constraints on its
/// elements.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub enum Constraint {
    /// `range(5..=480)`
    Range(Range),
    /// `length(1..=80)`, in Unicode scalars, inclusive.
    Length(Option<u64>, Option<u64>),
    /// `items(1..=10)`, inclusive.
    Items(Option<u64>, Option<u64>),
    /// `pattern = "^[a-z]+$"`
    Pattern(&'static str),
    /// `one_of("a", "b")`
    OneOf(&'static [Literal]),
    /// `format = "email"`
    Format(&'static str),
}

impl Constraint {
    /// Makes a `range(..)` whose bounds are integers.
    pub const fn integers(min: Option<i128>, max: Option<i128>, exclusive: bool) -> Self {
        const fn number(bound: Option<i128>) -> Option<Number> {
            match bound {
                Some(value) => Some(Number::Int(value)),
                None => None,
            }
        }
        Self::range(number(min), number(max), exclusive)
    }

    /// Returns a bound of a `u128`.
    ///
    /// # Panics
    ///
    /// If the bound is beyond `i128::MAX`. In a constant, that is an error of the compiler.
    #[must_use]
    pub const fn wide(bound: u128) -> i128 {
        assert!(
            bound <= i128::MAX.cast_unsigned(),
            "a bound of `range` is at most `i128::MAX`"
        );
        bound.cast_signed()
    }

    /// Makes a `range(..)`.
    pub const fn range(min: Option<Number>, max: Option<Number>, exclusive: bool) -> Self {
        Self::Range(Range {
            min,
            max,
            exclusive,
        })
    }
}

/// The bounds of a number.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The lowest value allowed.
    pub min: Option<Number>,
    /// The highest value allowed, or the first one refused.
    pub max: Option<Number>,
    /// True if `max` itself is refused, as in `0..10`.
    pub exclusive: bool,
}

/// A number in an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// Any other number.
    Float(f64),
}

/// A literal in `one_of`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A string.
    Str(&'static str),
    /// A number.
    Number(Number),
}

/// A type of an answer that a model or a person gives: it can be decoded and has a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an answer",
    label = "this has no schema or cannot be decoded",
    note = "answers need `Deserialize` and `JsonSchema`; write `#[tool_core::tool_type]` above a type of your own, or derive both"
)]
pub trait AnswerType: JsonSchema + for<'de> Deserialize<'de> {}

// Without this, the compiler reports serde's traits instead, and lists the types that implement
// them.
#[diagnostic::do_not_recommend]
impl<T: JsonSchema + for<'de> Deserialize<'de>> AnswerType for T {}

impl Parameter {
    /// Makes a row for a parameter of type `T`.
    pub const fn new<T: JsonSchema + for<'de> Deserialize<'de>>(
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            description,
            schema: subschema::<T>,
            optional: is_optional::<T>,
            default: DefaultValue::None,
            constraints: &[],
            examples: &[],
            flatten: false,
        }
    }

    /// Makes a row for a parameter whose type's properties are properties of the tool.
    pub const fn flattened<T: JsonSchema + for<'de> Deserialize<'de>>(name: &'static str) -> Self {
        Self::new::<T>(name, "").flat(name)
    }

    /// Sets the name and the description.
    pub const fn named(self, name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            ..self
        }
    }

    /// Makes the type's properties properties of the tool.
    pub const fn flat(self, name: &'static str) -> Self {
        Self {
            name,
            flatten: true,
            ..self
        }
    }

    /// Sets further names in JSON.
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Sets the default to a literal, given as JSON text.
    pub const fn default_literal(self, json: &'static str) -> Self {
        Self {
            default: DefaultValue::Literal(json),
            ..self
        }
    }

    /// Sets the default to an expression.
    pub const fn default_computed(self, make: fn() -> Value) -> Self {
        Self {
            default: DefaultValue::Computed(make),
            ..self
        }
    }

    /// Lets the instance decide the default.
    pub const fn default_from_instance(self) -> Self {
        Self {
            default: DefaultValue::Instance,
            ..self
        }
    }

    /// Sets the constraints of `#[arg]`.
    pub const fn constraints(self, constraints: &'static [Constraint]) -> Self {
        Self {
            constraints,
            ..self
        }
    }

    /// Sets example values.
    pub const fn examples(self, examples: &'static [fn() -> Value]) -> Self {
        Self { examples, ..self }
    }
}

fn subschema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Returns true if `T` decodes from an absent field by serde's rule. So an alias of `Option`
/// counts, and a type that is merely called `Option` does not.
fn is_optional<T: for<'de> Deserialize<'de>>() -> bool {
    T::deserialize(AbsentValue).is_ok()
}

/// The deserializer of an absent parameter. Only `Option` accepts it.
pub struct AbsentValue;

impl<'de> serde::Deserializer<'de> for AbsentValue {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("absent"))
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

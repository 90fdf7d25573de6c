//! One row of a tool's parameter table: what the macro knows of a parameter, as constant data.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

/// A row of the parameter table that `#[tool]` writes.
///
/// The table is constant data; schemas are assembled from it at run time, so that the expansion stays small.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// The name in JSON.
    pub name: &'static str,
    /// Further names that decode into the same parameter.
    pub aliases: &'static [&'static str],
    /// What the model reads about it; empty where nothing was written.
    pub description: &'static str,
    /// The schema of the parameter's own type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Whether the type decodes when the parameter is absent (`Option<T>`), found by asking the type.
    pub optional: fn() -> bool,
    /// The default that the code alone decides.
    pub default: DefaultValue,
    /// Limits from `#[arg]`.
    pub constraints: &'static [Constraint],
    /// Example values, each as a constructor of its JSON.
    pub examples: &'static [fn() -> Value],
    /// Whether the type's properties stand among the tool's own.
    pub flatten: bool,
}

/// Where a parameter's default comes from.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// There is none.
    None,
    /// The JSON text of a literal.
    Literal(&'static str),
    /// An expression, evaluated when the tool is bound.
    Computed(fn() -> Value),
    /// An expression over `self`: the instance decides, and the tool's definition holds the function.
    Instance,
}

/// A limit that `#[arg]` puts on a parameter. On an array all but `Items` speak of its elements.
#[derive(Clone, Copy, Debug)]
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

/// The bounds of a number.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The lowest value allowed.
    pub min: Option<Number>,
    /// The highest value allowed, or the first one refused.
    pub max: Option<Number>,
    /// Whether `max` itself is refused (`0..10`).
    pub exclusive: bool,
}

/// A number in an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// Any other.
    Float(f64),
}

/// A literal in `one_of`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// A text.
    Str(&'static str),
    /// A number.
    Number(Number),
}

/// A type that a model can fill in.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool parameter",
    label = "no model can fill this in",
    note = "parameters need `Deserialize` and `JsonSchema`; derive both for a type of your own",
    note = "if it is injected, mark it `#[context]`"
)]
pub trait ToolParameter: JsonSchema + for<'de> Deserialize<'de> {}

// Or the compiler would speak of serde's traits instead, and list whom they are implemented for.
#[diagnostic::do_not_recommend]
impl<T: JsonSchema + for<'de> Deserialize<'de>> ToolParameter for T {}

/// The same of a field, which may borrow from the argument text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool parameter",
    label = "no model can fill this in",
    note = "parameters need `Deserialize` and `JsonSchema`; derive both for a type of your own",
    note = "if it is injected, mark it `#[context]`"
)]
pub trait FieldValue<'de>: Deserialize<'de> {}

#[diagnostic::do_not_recommend]
impl<'de, T: Deserialize<'de>> FieldValue<'de> for T {}

impl Parameter {
    /// A parameter of type `T`.
    #[must_use]
    pub const fn new<T: ToolParameter>(name: &'static str, description: &'static str) -> Self {
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

    /// A parameter whose type's own properties stand among the tool's.
    #[must_use]
    pub const fn flattened<T: ToolParameter>(name: &'static str) -> Self {
        Self { flatten: true, ..Self::new::<T>(name, "") }
    }

    /// Further names in JSON.
    #[must_use]
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The default, as the JSON text of a literal.
    #[must_use]
    pub const fn default_literal(self, json: &'static str) -> Self {
        Self { default: DefaultValue::Literal(json), ..self }
    }

    /// The default, as an expression.
    #[must_use]
    pub const fn default_computed(self, make: fn() -> Value) -> Self {
        Self { default: DefaultValue::Computed(make), ..self }
    }

    /// The default comes from the instance.
    #[must_use]
    pub const fn default_from_instance(self) -> Self {
        Self { default: DefaultValue::Instance, ..self }
    }

    /// The limits from `#[arg]`.
    #[must_use]
    pub const fn constraints(self, constraints: &'static [Constraint]) -> Self {
        Self { constraints, ..self }
    }

    /// Example values.
    #[must_use]
    pub const fn examples(self, examples: &'static [fn() -> Value]) -> Self {
        Self { examples, ..self }
    }
}

fn subschema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Whether `T` decodes from nothing. Asked of the type through serde's own rule for missing fields, so that an alias
/// of `Option` counts and a type that is merely called `Option` does not.
fn is_optional<T: for<'de> Deserialize<'de>>() -> bool {
    T::deserialize(Absent).is_ok()
}

/// The deserializer of a parameter that is not there: only `Option` takes it.
pub struct Absent;

impl<'de> serde::Deserializer<'de> for Absent {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("absent"))
    }

    fn deserialize_option<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A default's JSON, for the schema. A default that does not serialise shows as null, which its schema refuses.
pub fn default_json<T: PublishedDefault + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A type whose values can be published as a default.
#[diagnostic::on_unimplemented(
    message = "the default of this parameter cannot be published, because `{Self}` is not `Serialize`",
    note = "a default stands in the schema that the model reads; derive `serde::Serialize` for `{Self}`"
)]
pub trait PublishedDefault: serde::Serialize {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + ?Sized> PublishedDefault for T {}

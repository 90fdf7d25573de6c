//! The JSON of defaults and examples, which the schema publishes.

use crate::arguments::tool_parameter::ToolParameter;
use crate::tool::returns::probe;
use serde::Serialize;
use serde_json::Value;

probe! {
    /// A type that serialises.
    __tool_default -> IsSerialized, 0 [T: Serialize] T;
    /// A parameter's type that does not serialise.
    __tool_default -> IsUnpublished, 1 [T: ToolParameter] T;
    /// A type that cannot be a parameter, which is reported elsewhere.
    __tool_default -> IsUnsuitable, 2 [T] T;
}

impl IsSerialized {
    /// Returns the JSON of a value. One that does not serialise gives `null`, which its schema
    /// refuses.
    pub fn json<T: Serialize>(self, value: &T) -> Value {
        to_json(value)
    }
}

impl IsUnpublished {
    /// Fails to compile, with the message of [`PublishedDefault`].
    pub fn json<T: PublishedDefault>(self, value: &T) -> Value {
        to_json(value)
    }
}

impl IsUnsuitable {
    /// Returns nothing, as the program does not compile.
    pub fn json<T>(self, _: &T) -> Value {
        Value::Null
    }
}

/// Returns the JSON of a value, or `null` for one that does not serialise.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Value {
    let Ok(exact) = serde_json::to_value(value) else {
        return Value::Null;
    };
    match serde_json::to_string(value) {
        Ok(text) => with_shortest_digits(exact, &text),
        Err(_) => exact,
    }
}

/// Returns a value with the numbers of its text. A `Value` holds an `f32` of 0.7 as
/// 0.699999988079071, and its text is `0.7`.
fn with_shortest_digits(exact: Value, text: &str) -> Value {
    /// The shortest digits of the largest `f32`, which are above it.
    const LARGEST: &str = "3.4028235e";
    if text.contains(LARGEST) {
        return exact;
    }
    serde_json::from_str(text).unwrap_or(exact)
}

/// A type whose values can be published as a default.
#[diagnostic::on_unimplemented(
    message = "the default of this parameter cannot be published, because `{Self}` is not `Serialize`",
    note = "the schema shows the default to the model; write `#[tool_core::tool_type]` above `{Self}`, or derive `Serialize`"
)]
pub trait PublishedDefault: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> PublishedDefault for T {}

/// Returns the JSON of the value that a function makes.
#[doc(hidden)]
#[macro_export]
macro_rules! __default_json {
    ($type:ty, $make:expr) => {
        $crate::__private::Probe::<$type>::new()
            .__tool_default()
            .json(&($make)())
    };
}

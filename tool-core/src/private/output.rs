//! The schema of a result, sorted by trait as its values are.

use super::Probe;
use super::returns::probe;
use schemars::{JsonSchema, Schema, SchemaGenerator};

probe! {
    /// A `Result`, whose success may have a schema.
    ResultSchema.__tool_schema -> ResultOutput, [<T: JsonSchema, E> ResultSchema for &&Probe<Result<T, E>>];
    /// Something with a schema.
    PlainSchema.__tool_schema -> PlainOutput, [<T: JsonSchema> PlainSchema for &Probe<T>];
    /// Something without.
    NoSchema.__tool_schema -> NoOutput, [<T> NoSchema for Probe<T>];
}

impl ResultOutput {
    /// The schema of the success.
    pub fn of<T: JsonSchema, E>(self, generator: &mut SchemaGenerator, _: Probe<Result<T, E>>) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl PlainOutput {
    /// The schema.
    pub fn of<T: JsonSchema>(self, generator: &mut SchemaGenerator, _: Probe<T>) -> Option<Schema> {
        Some(T::json_schema(generator))
    }
}

impl NoOutput {
    /// None.
    pub fn of<T>(self, _: &mut SchemaGenerator, _: Probe<T>) -> Option<Schema> {
        None
    }
}

/// The schema of a return type, where it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! __output {
    ($generator:expr, $type:ty) => {{
        #[allow(unused_imports)]
        use $crate::__private::{NoSchema as _, PlainSchema as _, ResultSchema as _};
        (&&&$crate::__private::Probe::<$type>::new())
            .__tool_schema()
            .of($generator, $crate::__private::Probe::<$type>::new())
    }};
}

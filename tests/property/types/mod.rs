//! The argument types. Each is a tool that returns its arguments.

pub(crate) mod collections;
pub(crate) mod enums;
pub(crate) mod lenient;
pub(crate) mod limits;
pub(crate) mod scalars;
pub(crate) mod shapes;
pub(crate) mod structs;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tool_core::registry::ToolContextBuilder;

/// Normalises a value for comparison.
pub(crate) type Loosen = fn(&mut Value);

/// A tool, and the normalisation of its answer.
pub(crate) struct Case {
    /// The name of the tool.
    pub name: &'static str,
    /// Applied to the sent and to the returned value.
    pub loosen: Loosen,
}

/// The answer of a tool, which is its arguments.
pub(crate) type Echo = Box<RawValue>;

/// The arguments.
pub(crate) fn echo<T: Serialize>(arguments: T) -> Echo {
    to_raw_value(&arguments).expect("an argument can be written")
}

/// Returns the value unchanged.
pub(crate) fn exactly(_: &mut Value) {}

/// Returns every tool.
pub(crate) fn cases() -> Vec<Case> {
    [
        scalars::cases(),
        collections::cases(),
        structs::cases(),
        enums::cases(),
        lenient::cases(),
        limits::cases(),
        shapes::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the builder of a context with every tool.
pub(crate) fn tools() -> ToolContextBuilder {
    let tools = tool_core::ToolContext::builder();
    let tools = enums::tools(structs::tools(collections::tools(scalars::tools(tools))));
    shapes::tools(lenient::tools(limits::tools(tools)))
}

/// Defines a tool with one parameter `value` for each line: `name: Type`, with an optional normalisation.
macro_rules! echoes {
    ($($(#[$attribute:meta])* $name:ident: $type:ty $(, $loosen:expr)?;)*) => {
        $(
            /// Answers with the value.
            #[tool_core::tool]
            fn $name($(#[$attribute])* value: $type) -> crate::types::Echo {
                crate::types::echo(std::collections::BTreeMap::from([("value", value)]))
            }
        )*

        crate::types::listed!($($name $(, $loosen)?;)*);
    };
}

/// The tools of a module, with the normalisations of their answers.
macro_rules! listed {
    ($($name:ident $(, $loosen:expr)?;)*) => {
        pub(crate) fn cases() -> Vec<crate::types::Case> {
            vec![$(crate::types::Case {
                name: stringify!($name),
                loosen: crate::types::listed!(@loosen $($loosen)?),
            }),*]
        }

        pub(crate) fn tools(tools: tool_core::registry::ToolContextBuilder) -> tool_core::registry::ToolContextBuilder {
            tools$(.with($name))*
        }
    };
    (@loosen) => { crate::types::exactly };
    (@loosen $loosen:expr) => { $loosen };
}

pub(crate) use {echoes, listed};

/// Changes every nested scalar.
pub(crate) fn scalars(value: &mut Value, change: &impl Fn(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| scalars(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| scalars(item, change)),
        scalar => change(scalar),
    }
}

/// Rounds a number to an `f32`.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn single(value: &mut Value) {
    scalars(value, &|value| {
        if let Some(float) = value.as_f64() {
            *value = Value::from(f64::from(float as f32));
        }
    });
}

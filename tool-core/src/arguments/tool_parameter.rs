//! The types that a tool takes as parameters.
//!
//! Generated code reaches a type only through the items of [`ToolParameter`], and never by a bound
//! on a function: then all errors about the type are one and the same, and the compiler prints it
//! once.

use crate::arguments::fields::{Flattened, Slot, ValueReader, from_text};
use crate::schema::parameter::Parameter;
use schemars::JsonSchema;
use serde::Deserialize;

macro_rules! parameter_trait {
    ($(#[$attr:meta])* $name:ident $([$hint:ident])?) => {
        $(#[$attr])*
        pub trait $name $(<$hint>)?: Sized {
            /// The row of the type in the table of parameters, without a name.
            const ROW: Parameter;

            /// Returns the slot into which a wrapper decodes the value.
            fn slot<'s, 'de, R: ValueReader<'de>>(value: &'s mut Option<Self>) -> &'s mut (dyn Slot<'de, R> + 's);

            /// Returns the slot of a flattened parameter.
            fn flattened_slot<'s, 'de, R: ValueReader<'de>>(value: &'s mut Flattened<Self>) -> &'s mut (dyn Slot<'de, R> + 's);

            /// Reads JSON.
            fn from_text(text: &str) -> serde_json::Result<Self>;
        }

        // Without this, the compiler reports serde's traits instead, and lists the types that
        // implement them.
        #[diagnostic::do_not_recommend]
        impl<$($hint,)? T: JsonSchema + for<'de> Deserialize<'de>> $name $(<$hint>)? for T {
            const ROW: Parameter = Parameter::new::<T>("", "");

            #[inline]
            fn slot<'s, 'de, R: ValueReader<'de>>(value: &'s mut Option<T>) -> &'s mut (dyn Slot<'de, R> + 's) {
                value
            }

            #[inline]
            fn flattened_slot<'s, 'de, R: ValueReader<'de>>(value: &'s mut Flattened<T>) -> &'s mut (dyn Slot<'de, R> + 's) {
                value
            }

            fn from_text(text: &str) -> serde_json::Result<T> {
                from_text(text)
            }
        }
    };
}

parameter_trait! {
    /// A type that can be decoded from arguments and has a schema.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a tool parameter",
        label = "no model can fill this in",
        note = "parameters need `Deserialize` and `JsonSchema`; write `#[tool_core::tool_type]` above a type of your own, or derive both",
        note = "a type of another crate may have them with features of that crate and of `schemars`: see \"Types of other crates\" in docs/book/parameters.md",
        note = "if it is injected, mark it `#[context]`"
    )]
    ToolParameter
}

parameter_trait! {
    /// A parameter whose type has the name of a type in another crate. `Feature` is the feature of
    /// schemars that gives that type a schema.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a tool parameter",
        label = "no model can fill this in",
        note = "if it is a type of another crate, add the feature `{Feature}` of `schemars`, and the feature `serde` of that crate: `cargo add schemars --features {Feature}`",
        note = "if it is a type of your own, write `#[tool_core::tool_type]` above it, or derive `Deserialize` and `JsonSchema`"
    )]
    ForeignParameter[Feature]
}

/// A type with a schema. `Feature` is the feature of schemars for the type in another crate that
/// has its name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema",
    label = "no model can fill this in",
    note = "if it is a type of another crate, add the feature `{Feature}` of `schemars`: `cargo add schemars --features {Feature}`"
)]
pub trait ForeignSchema<Feature> {
    /// The proof that there is a schema.
    const FOUND: () = ();
}

#[diagnostic::do_not_recommend]
impl<Feature, T: JsonSchema> ForeignSchema<Feature> for T {}

/// The features of schemars, for [`ForeignParameter`] and [`ForeignSchema`].
#[allow(non_camel_case_types)]
pub mod schemars_features {
    macro_rules! features {
        ($($(#[$doc:meta])* $name:ident)*) => {
            $($(#[$doc])* pub enum $name {})*
        };
    }

    features! {
        /// `arrayvec` 0.7
        arrayvec07
        /// `bigdecimal` 0.4
        bigdecimal04
        /// `bytes` 1
        bytes1
        /// `chrono` 0.4
        chrono04
        /// `either` 1
        either1
        /// `indexmap` 2
        indexmap2
        /// `jiff` 0.2
        jiff02
        /// `rust_decimal` 1
        rust_decimal1
        /// `semver` 1
        semver1
        /// `smallvec` 1
        smallvec1
        /// `smol_str` 0.3
        smol_str03
        /// `url` 2
        url2
        /// `uuid` 1
        uuid1
    }
}

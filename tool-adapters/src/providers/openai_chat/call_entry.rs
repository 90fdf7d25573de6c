//! A call as the servers write it.

use crate::providers::json_reader::{OtherMembers, json_objects};
use crate::providers::lenient::{LenientCount, LenientObject, LenientText, RawJson};

json_objects! {
    /// A call or a piece of one.
    pub(crate) struct CallEntry<'a> {
        pub(crate) index: Option<LenientCount>,
        pub(crate) id: LenientText<'a>,
        pub(crate) kind: LenientText<'a> = "type",
        pub(crate) function: LenientObject<CalledFunction<'a>>,
        /// The call of a custom tool, whose input is free text.
        pub(crate) custom: LenientObject<CalledFunction<'a>>,
        ..pub(crate) others: OtherMembers<'a>,
    }

    pub(crate) struct CalledFunction<'a> {
        pub(crate) name: LenientText<'a>,
        /// A text; an object from some servers.
        pub(crate) arguments: RawJson<'a>,
        /// The input of a custom tool.
        pub(crate) input: RawJson<'a>,
        ..pub(crate) others: OtherMembers<'a>,
    }
}

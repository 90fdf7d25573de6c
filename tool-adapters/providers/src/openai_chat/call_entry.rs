//! A call as the servers write it.

use crate::json_reader::{OtherMembers, json_objects};
use crate::lenient::{LenientCount, LenientObject, LenientText, RawJson, WithRaw};

json_objects! {
    /// A call or a piece of one.
    pub(crate) struct CallEntry<'a> {
        pub(crate) index: WithRaw<'a, Option<LenientCount>>,
        pub(crate) id: LenientText<'a>,
        pub(crate) kind: LenientText<'a> = "type",
        pub(crate) function: WithRaw<'a, LenientObject<CalledFunction<'a>>>,
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

impl CallEntry<'_> {
    /// Returns true for an index that is no number, or a function that is no object: the piece
    /// cannot be read.
    pub(crate) fn has_other_form(&self) -> bool {
        let is_index = self
            .index
            .raw
            .starts_with(|first: char| first.is_ascii_digit() || first == '"');
        let is_absent = |raw: &str| matches!(raw, "" | "null");
        let has_function = self.function.is_some() || is_absent(self.function.raw);
        !has_function || !is_index && !is_absent(self.index.raw)
    }
}

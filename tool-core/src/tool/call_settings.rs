//! The settings for all calls of a context.

use crate::arguments::coerce::Coercions;

/// The limits of arguments and results, and the corrections of arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSettings {
    pub(crate) coercions: Coercions,
    /// The maximum size of the arguments.
    pub(crate) argument_bytes: usize,
    /// The maximum size of a result, before the tool's own `max_output`.
    pub(crate) output_bytes: usize,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            coercions: Coercions::ALL,
            argument_bytes: 1 << 20,
            output_bytes: 1 << 20,
        }
    }
}

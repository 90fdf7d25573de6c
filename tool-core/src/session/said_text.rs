//! The texts of the model in one reply.

/// The texts of the model in a reply.
#[derive(Default)]
pub(crate) struct SaidText {
    /// The last text.
    pub(crate) last: Option<String>,
    /// The text of an answer that the provider has paused, so far.
    pub(crate) paused: String,
}

impl SaidText {
    /// Adds the text of a step. The parts of a paused answer are one text.
    pub(crate) fn add(&mut self, text: Option<&str>, is_paused: bool) {
        let Some(whole) = self.whole(text) else {
            return;
        };
        if is_paused {
            self.paused.clone_from(&whole);
        }
        self.last = Some(whole);
    }

    /// Holds a part of a paused answer back.
    pub(crate) fn hold(&mut self, text: Option<&str>) {
        self.paused.push_str(text.unwrap_or_default());
    }

    /// Returns an answer with its parts that were held back. `None` if it has no text.
    pub(crate) fn whole(&mut self, text: Option<&str>) -> Option<String> {
        let mut whole = std::mem::take(&mut self.paused);
        whole.push_str(text.unwrap_or_default());
        (!whole.is_empty()).then_some(whole)
    }
}

//! Which response a message is, and of which model.

use super::codec::Out;
use super::event::Event;

/// Whether a message's response was told: the provider mostly says it with each chunk.
#[derive(Debug, Default)]
pub(super) struct Origin {
    told: bool,
}

impl Origin {
    /// Tells what is known, the first time that something is.
    pub(super) fn tell(&mut self, id: &str, model: &str, out: &mut Out<'_>) {
        let known = |text: &str| Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, model) = (known(id), known(model));
        if !self.told && (id.is_some() || model.is_some()) {
            self.told = true;
            out.push(Event::Response { id, model });
        }
    }
}

//! The parameters of a tool, hashed once.

use super::mix::{Keys, Lanes, keys};
use super::scan::Scanner;
use crate::arguments::parameters::Parameter;

/// What the scanner looks up.
#[derive(Default)]
pub(crate) struct Table {
    /// By name and by alias, the names first and in the order of the signature, in which models send them.
    slots: Vec<Slot>,
    /// The sum of the entries of all defaults.
    defaults: Lanes,
}

/// One name.
pub(super) struct Slot {
    /// The hash of the name.
    name: Lanes,
    /// The hash of the name of the parameter that it names.
    pub(super) parameter: Lanes,
    /// The entry of the default; zero if there is none.
    pub(super) default: Lanes,
    pub(super) null_is_absent: bool,
}

impl Table {
    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let keys = keys();
        let mut table = Self::default();
        let mut aliases = Vec::new();
        for parameter in parameters {
            let slot = Slot::new(keys, parameter);
            table.defaults = table.defaults.plus(slot.default);
            aliases.extend(parameter.aliases.iter().map(|alias| Slot { name: keys.text(keys.entry, alias), ..slot }));
            table.slots.push(slot);
        }
        table.slots.append(&mut aliases);
        table
    }

    #[inline]
    pub(super) fn defaults(&self) -> Lanes {
        self.defaults
    }

    /// The parameter of a name, tried first in a place.
    #[inline]
    pub(super) fn find(&self, name: Lanes, guess: usize) -> Option<(usize, &Slot)> {
        match self.slots.get(guess) {
            Some(slot) if slot.name == name => Some((guess, slot)),
            _ => self.slots.iter().enumerate().find(|(_, slot)| slot.name == name),
        }
    }
}

impl Slot {
    fn new(keys: &Keys, parameter: &Parameter) -> Self {
        let name = keys.text(keys.entry, &parameter.name);
        let entry = |default: &serde_json::Value| Scanner::new(&default.to_string(), keys).only_value(name);
        let default = parameter.default.as_ref().and_then(entry).unwrap_or_default();
        Self { name, parameter: name, default, null_is_absent: parameter.null_is_absent }
    }
}

//! The tallies of tools that sessions have of their own, by name.

use super::tally::Tally;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One tally a name, whichever session's tool it is.
///
/// Names stay known, so that what was counted does not go backwards; but of very many, as tools imported at run time may
/// have, only those that somebody uses.
#[derive(Default)]
pub(crate) struct Tallies(Mutex<HashMap<Box<str>, Arc<Tally>>>);

/// As many names are known without anybody using them.
const NAMES: usize = 1_024;

impl Tallies {
    /// The tally of a name: the one that it has, or else what `make` gives.
    pub(crate) fn get(&self, name: &str, make: impl FnOnce() -> Arc<Tally>) -> Arc<Tally> {
        let mut known = self.lock();
        if let Some(tally) = known.get(name) {
            return Arc::clone(tally);
        }
        if known.len() >= NAMES && known.len().is_power_of_two() {
            known.retain(|_, tally| Arc::strong_count(tally) > 1);
        }
        Arc::clone(known.entry(name.into()).or_insert_with(make))
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Tally>> {
        self.lock().get(name).cloned()
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<(Box<str>, Arc<Tally>)> {
        self.lock().iter().map(|(name, tally)| (name.clone(), Arc::clone(tally))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Tally>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-M3
    #[test]
    fn of_a_million_names_those_stay_that_are_used() {
        let tallies = Tallies::default();
        let make = || Arc::new(Tally::new(1));
        let used = tallies.get("used", make);
        for number in 0..20_000 {
            let _ = tallies.get(&number.to_string(), make);
        }
        assert!(tallies.lock().len() <= NAMES + 1, "{}", tallies.lock().len());
        assert!(Arc::ptr_eq(&used, &tallies.get("used", make)));
    }
}

//! Names that occur once: of tools, of arguments and of definitions.

use std::collections::{HashMap, HashSet};

/// The names that are taken.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The next number of each name, so that a thousand equal names take a thousand steps.
    next: HashMap<String, u32>,
}

impl Names {
    /// Takes a name of at most `limit` characters: the wanted one, or that with a number.
    pub(crate) fn free(&mut self, wanted: &str, limit: usize) -> String {
        let cut = |limit: usize| {
            wanted
                .char_indices()
                .nth(limit)
                .map_or(wanted, |(end, _)| &wanted[..end])
        };
        let short = cut(limit);
        if self.taken.insert(short.to_owned()) {
            return short.to_owned();
        }
        let number = self.next.entry(short.to_owned()).or_insert(2);
        loop {
            let suffix = format!("_{number}");
            *number += 1;
            let name = format!("{}{suffix}", cut(limit.saturating_sub(suffix.len())));
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Takes a name. Returns false if it is taken already.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Gives a name back.
    pub(crate) fn release(&mut self, name: &str) {
        self.taken.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers_within_the_limit() {
        let mut names = Names::default();
        let free =
            ["abcdef", "abcdef", "abc_2", "abcd", "ab", "abcde"].map(|name| names.free(name, 5));
        assert_eq!(free, ["abcde", "abc_2", "abc_3", "abcd", "ab", "abc_4"]);
    }
}

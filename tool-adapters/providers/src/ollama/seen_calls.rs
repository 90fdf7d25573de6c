//! The calls of a message so far, by which calls that come again are known.

use crate::same_json::is_same_json;
use std::collections::HashMap;

/// The calls of a message so far.
///
/// One step runs a call once. A call that has the id, the name and the arguments of an earlier one
/// is that call. Older servers give no ids, and some send a line twice, or one with all calls so
/// far, such as the last one: a line repeats calls if it has those of the line before, or begins
/// with every call that has come. Calls with different ids or numbers are different, and so are
/// equal ones in one line.
#[derive(Debug, Default)]
pub(crate) struct SeenCalls {
    calls: Vec<SeenOllamaCall>,
    /// The places of the calls that have an id, by their ids.
    by_id: HashMap<String, Vec<usize>>,
    /// The calls of the last line.
    last_line: Vec<SeenOllamaCall>,
}

/// A call that has come.
#[derive(Clone, Debug)]
pub(crate) struct SeenOllamaCall {
    id: String,
    /// The call's number in the message.
    number: String,
    name: String,
    arguments: String,
}

impl SeenCalls {
    /// Adds the calls of a line, and returns the numbers of those that are new.
    pub(crate) fn add(&mut self, line: Vec<SeenOllamaCall>) -> Vec<usize> {
        let repeats_line = !line.is_empty()
            && begins_with(&line, &self.last_line)
            && line.len() == self.last_line.len();
        let repeats_message = begins_with(&line, &self.calls);
        let from = match (repeats_line, repeats_message) {
            (true, _) => line.len(),
            (false, true) => self.calls.len(),
            (false, false) => 0,
        };
        self.last_line.clone_from(&line);
        let mut new = Vec::new();
        for (at, call) in line.into_iter().enumerate().skip(from) {
            if self.is_new(&call) {
                new.push(at);
                self.calls.push(call);
            }
        }
        new
    }

    /// Returns true for a call without an id, or with another name, number or arguments than those
    /// of its id. It has its place among the calls from now on.
    fn is_new(&mut self, call: &SeenOllamaCall) -> bool {
        if call.id.is_empty() {
            return true;
        }
        let places = self.by_id.entry(call.id.clone()).or_default();
        let mut seen = places.iter().filter_map(|place| self.calls.get(*place));
        if seen.any(|seen| seen.number == call.number && seen.has_same_content(call)) {
            return false;
        }
        places.push(self.calls.len());
        true
    }

    /// Notes a line without calls.
    pub(crate) fn pass(&mut self) {
        self.last_line.clear();
    }
}

fn begins_with(line: &[SeenOllamaCall], calls: &[SeenOllamaCall]) -> bool {
    line.len() >= calls.len() && line.iter().zip(calls).all(|(call, seen)| call.may_be(seen))
}

impl SeenOllamaCall {
    pub(crate) fn new(id: &str, number: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            number: number.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    /// Returns true for a call with the same name and arguments, and no other id or number.
    fn may_be(&self, other: &Self) -> bool {
        let agrees =
            |ours: &str, theirs: &str| ours.is_empty() || theirs.is_empty() || ours == theirs;
        agrees(&self.id, &other.id)
            && agrees(&self.number, &other.number)
            && self.has_same_content(other)
    }

    /// Returns true for a call with the same name and arguments, however these are spaced.
    fn has_same_content(&self, other: &Self) -> bool {
        self.name == other.name && is_same_json(&self.arguments, &other.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, number: &str, n: u32) -> SeenOllamaCall {
        SeenOllamaCall::new(id, number, "look", &format!("{{\"n\": {n}}}"))
    }

    /// Returns the numbers of new calls of each line.
    fn new_calls(lines: &[Vec<SeenOllamaCall>]) -> Vec<usize> {
        let mut seen = SeenCalls::default();
        lines
            .iter()
            .map(|line| seen.add(line.clone()).len())
            .collect()
    }

    // M3
    #[test]
    fn a_line_that_repeats_calls_has_no_new_ones() {
        let one = call("", "", 1);
        let two = call("", "", 2);
        let three = call("", "", 3);
        for (lines, expected) in [
            (vec![vec![one.clone()], vec![one.clone()]], vec![1, 0]),
            (
                vec![vec![one.clone()], vec![two.clone()], vec![two.clone()]],
                vec![1, 1, 0],
            ),
            (
                vec![vec![one.clone()], vec![one.clone(), two.clone()]],
                vec![1, 1],
            ),
            (
                vec![
                    vec![one.clone()],
                    vec![two.clone()],
                    vec![one.clone(), two.clone(), three],
                ],
                vec![1, 1, 1],
            ),
            (
                vec![vec![call("a", "0", 1)], vec![call("", "0", 1)]],
                vec![1, 0],
            ),
            (
                vec![
                    vec![call("a", "0", 1)],
                    vec![call("b", "0", 2)],
                    vec![call("a", "0", 1)],
                ],
                vec![1, 1, 0],
            ),
        ] {
            assert_eq!(new_calls(&lines), expected, "{lines:?}");
        }
    }

    // M3
    #[test]
    fn two_calls_stay_two() {
        let one = call("", "", 1);
        let two = call("", "", 2);
        for (lines, expected) in [
            (vec![vec![one.clone(), one.clone()]], vec![2]),
            (vec![vec![one.clone()], vec![two], vec![one]], vec![1, 1, 1]),
            (
                vec![vec![call("a", "0", 1)], vec![call("b", "0", 1)]],
                vec![1, 1],
            ),
            (
                vec![vec![call("", "0", 1)], vec![call("", "1", 1)]],
                vec![1, 1],
            ),
        ] {
            assert_eq!(new_calls(&lines), expected, "{lines:?}");
        }
    }
}

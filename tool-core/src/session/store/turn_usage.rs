//! The counters of a session's turn: calls, empty results, and attempts with equal arguments.

use crate::arguments::fingerprint::{Fingerprint, TokenHash};
use crate::session::store::session_store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::text::Name;
use rustc_hash::FxHashMap;
use std::iter;

/// The usage of the current turn.
#[derive(Default)]
#[repr(C)]
pub(crate) struct TurnUsage {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    /// The bytes of arguments that are kept to compare others with them.
    kept_bytes: usize,
    tools: UsageByTool,
}

/// The usage of each tool.
#[derive(Default)]
struct UsageByTool {
    /// The tool that was called first. It is inline, as most turns call one tool.
    first: Option<ToolUsage>,
    rest: Option<Box<RestOfTools>>,
}

/// The usage of the tools beside the first one.
#[derive(Default)]
struct RestOfTools {
    tools: Vec<ToolUsage>,
    /// The index of each tool.
    by_name: FxHashMap<Name, usize>,
}

/// The usage of one tool. It is kept from turn to turn, as a session calls the same tools again.
struct ToolUsage {
    name: Name,
    calls: u32,
    empty: u32,
    attempts: Attempts,
}

/// The tools that are kept from turn to turn.
const KEPT_TOOLS: usize = 16;

impl TurnUsage {
    /// Counts the attempt, checks the limits, and charges the budgets. Returns the number of the turn.
    pub(crate) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
        if call.charge == Charge::Free {
            return Ok(self.turn);
        }
        let in_category = &mut self.categories[call.category as usize];
        let tool = self.tools.get(call.tool, call.name);
        if call.charge != Charge::Approved {
            tool.attempt(call, &mut self.kept_bytes)?;
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        // The narrowest budget first.
        check_budget(BudgetLimit::Tool, tool.calls, call.max_calls)?;
        check_budget(BudgetLimit::Category(call.category), *in_category, call.limits.category(call.category))?;
        check_budget(BudgetLimit::Total, self.total, call.limits.max_calls)?;
        if call.charge != Charge::Hold {
            for count in [&mut tool.calls, in_category, &mut self.total] {
                *count = count.saturating_add(1);
            }
        }
        Ok(self.turn)
    }

    /// Records the outcome of a call. Ignores calls of turns that are over.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        if settlement.turn != self.turn {
            return;
        }
        if settlement.refund {
            let tool = &mut self.tools.get(settlement.tool, None).calls;
            for count in [tool, &mut self.categories[settlement.category as usize], &mut self.total] {
                *count = count.saturating_sub(1);
            }
        }
        if settlement.empty {
            self.tools.get(settlement.tool, None).empty += 1;
        }
    }

    /// Begins the next turn, and returns its number.
    pub(crate) fn next_turn(&mut self) -> u64 {
        (self.turn, self.total, self.categories, self.kept_bytes) = (self.turn + 1, 0, [0; 3], 0);
        self.tools.clear();
        self.turn
    }

    /// Returns the number of the turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }
}

impl UsageByTool {
    /// Returns the usage of a tool. `shared_name` is the name in a form that can be kept without a copy.
    #[inline]
    fn get(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage {
        if self.first.as_ref().is_none_or(|first| first.is(name)) {
            self.first.get_or_insert_with(|| ToolUsage::new(name, shared_name))
        } else {
            self.rest.get_or_insert_default().get(name, shared_name)
        }
    }

    /// Clears the counts.
    fn clear(&mut self) {
        self.first.iter_mut().for_each(ToolUsage::clear);
        let Some(rest) = &mut self.rest else { return };
        // Frees the memory of a turn with very many tools.
        rest.tools.truncate(KEPT_TOOLS);
        rest.tools.shrink_to(KEPT_TOOLS);
        rest.by_name.retain(|_, index| *index < KEPT_TOOLS);
        rest.by_name.shrink_to(KEPT_TOOLS);
        rest.tools.iter_mut().for_each(ToolUsage::clear);
    }
}

impl RestOfTools {
    fn get(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage {
        let index = self.by_name.get(name).copied().unwrap_or_else(|| {
            let tool = ToolUsage::new(name, shared_name);
            self.by_name.insert(tool.name.clone(), self.tools.len());
            self.tools.push(tool);
            self.tools.len() - 1
        });
        &mut self.tools[index]
    }
}

impl ToolUsage {
    fn new(name: &str, shared_name: Option<&Name>) -> Self {
        let name = shared_name.cloned().unwrap_or_else(|| name.into());
        Self { name, calls: 0, empty: 0, attempts: Attempts::default() }
    }

    /// Compares names by address first, as the names of one tool usually share their text.
    #[inline]
    fn is(&self, name: &str) -> bool {
        std::ptr::eq(&raw const *self.name, name) || *self.name == *name
    }

    fn clear(&mut self) {
        (self.calls, self.empty) = (0, 0);
        self.attempts.clear();
    }

    #[inline]
    fn attempt(&mut self, call: &Admission<'_>, kept_bytes: &mut usize) -> Result<(), Refusal> {
        // Counted even without a limit: another process may open this session with another policy.
        let count = self.attempts.count(&call.arguments, kept_bytes);
        if call.limits.repeated.is_some_and(|limit| count >= limit.max(1)) {
            return Err(Refusal::Repeated(count));
        }
        match call.limits.empty {
            Some(limit) if self.empty >= limit.max(1) => Err(Refusal::Empty(self.empty)),
            _ => Ok(()),
        }
    }
}

#[inline]
fn check_budget(limit: BudgetLimit, used: u32, of: Option<u32>) -> Result<(), Refusal> {
    match of {
        Some(of) if used >= of => Err(Refusal::Budget { limit, used, of }),
        _ => Ok(()),
    }
}

/// The attempts at one tool in a turn, counted by their arguments.
///
/// Their texts are kept, because most texts either equal an earlier one byte for byte or differ from it at a glance. Where a
/// glance does not decide, and past [`MAX_KEPT_BYTES`], the arguments are hashed. Of very many different attempts, at least
/// the last [`GENERATION`] are known.
#[derive(Default)]
struct Attempts {
    /// The first text. It is inline, as most turns call a tool once.
    first: String,
    /// The attempts with the first text; 0 if no text is kept.
    count: u32,
    /// True once a hash had to decide.
    is_hashed: bool,
    more: Option<Box<MoreAttempts>>,
}

/// The attempts beside the first one.
#[derive(Default)]
struct MoreAttempts {
    texts: KeptTexts,
    /// The attempts that did not decode, and all attempts once a hash had to decide, in two generations.
    young: FxHashMap<u64, u32>,
    old: FxHashMap<u64, u32>,
}

/// Texts that differ for certain from the first one and from each other, as a tree.
///
/// Below a text are those that went the same way to it, by the first token in which each of them differs from the texts
/// above. Two texts whose first tokens of difference from a third one are not the same differ from each other.
#[derive(Default)]
struct KeptTexts {
    /// All texts, one behind the other.
    text: String,
    /// The end of each text, and the attempts with it.
    kept: Vec<(usize, u32)>,
    /// The index of a text, by the index of the one above it (0 for the first, 1 for that at index 0) and the token.
    below: FxHashMap<(usize, TokenHash), usize>,
}

/// The bytes of arguments that a turn keeps. Attempts beyond them are hashed.
const MAX_KEPT_BYTES: usize = 32 * 1024;
/// The bytes that a text takes beside its own.
const ENTRY_BYTES: usize = 64;
/// The capacity that is kept for the text of the next turn's first attempt.
const KEPT_CAPACITY: usize = 256;

impl Attempts {
    /// Counts an attempt, and returns the number of attempts with equal arguments.
    #[inline]
    fn count(&mut self, arguments: &Fingerprint<'_>, kept_bytes: &mut usize) -> u32 {
        match arguments.accepted() {
            Some(text) if self.count == 0 && !self.is_hashed && take_room(text.len(), kept_bytes) => {
                self.first.push_str(text);
                self.count = 1;
                1
            }
            Some(text) if self.count > 0 && self.first == text => increment(&mut self.count),
            accepted => self.compare(arguments, accepted, kept_bytes),
        }
    }

    fn compare(&mut self, arguments: &Fingerprint<'_>, accepted: Option<&str>, kept_bytes: &mut usize) -> u32 {
        let more = self.more.get_or_insert_default();
        if let Some(text) = accepted.filter(|_| !self.is_hashed) {
            if self.count > 0
                && let Some(count) = more.texts.count(&self.first, arguments, text, kept_bytes)
            {
                return count;
            }
            self.is_hashed = true;
            let texts = std::mem::take(&mut more.texts);
            if self.count > 0 {
                let first = (&*self.first, std::mem::take(&mut self.count));
                let others = texts.kept.iter().enumerate().map(|(index, (_, count))| (texts.text(index), *count));
                let hashed = |(text, count)| (arguments.with_text(text).fast(), count);
                more.young.extend(iter::once(first).chain(others).map(hashed));
            }
        }
        more.count(arguments.fast())
    }

    /// Forgets the turn, and frees its memory except for some room for the next first text.
    fn clear(&mut self) {
        (self.more, self.count, self.is_hashed) = (None, 0, false);
        self.first.clear();
        self.first.shrink_to(KEPT_CAPACITY);
    }
}

impl KeptTexts {
    /// Counts a text that differs from the first one. Returns `None` if it does not do so for certain, or cannot be kept.
    fn count(&mut self, first: &str, arguments: &Fingerprint<'_>, text: &str, kept_bytes: &mut usize) -> Option<u32> {
        let mut above = (0, first);
        loop {
            let place = (above.0, arguments.first_difference(above.1)?);
            let Some(index) = self.below.get(&place).copied() else {
                if !take_room(text.len() + ENTRY_BYTES, kept_bytes) {
                    return None;
                }
                self.text.push_str(text);
                self.below.insert(place, self.kept.len());
                self.kept.push((self.text.len(), 1));
                return Some(1);
            };
            let known = self.text(index);
            if known == text {
                return Some(increment(&mut self.kept[index].1));
            }
            above = (index + 1, known);
        }
    }

    fn text(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.kept[before].0);
        &self.text[start..self.kept[index].0]
    }
}

fn take_room(bytes: usize, kept_bytes: &mut usize) -> bool {
    let has_room = bytes <= MAX_KEPT_BYTES.saturating_sub(*kept_bytes);
    *kept_bytes += if has_room { bytes } else { 0 };
    has_room
}

fn increment(count: &mut u32) -> u32 {
    *count = count.saturating_add(1);
    *count
}

/// The attempts of a generation.
const GENERATION: usize = 1024;

impl MoreAttempts {
    /// Counts an attempt by the hash of its arguments.
    fn count(&mut self, hash: u64) -> u32 {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.get(&hash).copied().unwrap_or(0);
        increment(self.young.entry(hash).or_insert(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::equality::EqualityRules;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::HashMap;

    /// Arguments of few values in several spellings, so that many of them are equal or nearly so.
    fn spelled() -> impl Strategy<Value = String> {
        let title = prop::sample::select(vec![r#""a""#, r#""ab""#, r#""abc""#, r#""\u0061b""#, r#""1""#]);
        let number = || {
            prop::sample::select(vec![
                "1",
                "2",
                "12",
                "1.0",
                "-1",
                "0",
                "-0",
                "1.5",
                "1.50",
                "2.5",
                "0.1",
                "0.10000000000000001",
                "true",
                "false",
            ])
        };
        (title, number(), prop::collection::vec(number(), 0..3), 0..4_usize).prop_map(|(title, page, ids, form)| {
            let ids = ids.join(",");
            match form {
                0 => format!(r#"{{"title":{title},"page":{page},"ids":[{ids}]}}"#),
                1 => format!(r#"{{"page":{page},"title":{title},"ids":[{ids}]}}"#),
                2 => format!(r#"{{"title":{title}, "page":{page}, "ids":[{ids}]}}"#),
                _ => format!(r#"{{"title":{title},"page":{page}}}"#),
            }
        })
    }

    fn counts(texts: &[String], kept_bytes: usize) -> Vec<u32> {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let (mut attempts, mut kept_bytes) = (Attempts::default(), kept_bytes);
        let mut count = |text: &String| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept_bytes);
        texts.iter().map(&mut count).collect()
    }

    fn expected(texts: &[String]) -> Vec<u32> {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let mut by_value = HashMap::new();
        texts.iter().map(|text| increment(by_value.entry(rules.canonical_text(text)).or_default())).collect()
    }

    proptest! {
        #[test]
        fn counts_equal_arguments_in_any_spelling(texts in prop::collection::vec(spelled(), 0..60), room in 0..2_000_usize) {
            prop_assert_eq!(counts(&texts, MAX_KEPT_BYTES - room), expected(&texts));
        }

        // One spelling, so that the texts are kept and none is hashed.
        #[test]
        fn counts_equal_texts(numbers in prop::collection::vec((0..4_u8, 0..4_u8, 0..4_u8), 0..200)) {
            let text = |(a, b, c): &(u8, u8, u8)| format!(r#"{{"a":"{}","b":{b},"c":["{c}"]}}"#, "xyxyx".repeat((*a).into()));
            let texts = numbers.iter().map(text).collect::<Vec<_>>();
            prop_assert_eq!(counts(&texts, 0), expected(&texts));
        }
    }

    #[test]
    fn keeps_texts_that_differ_at_a_glance() {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let (mut attempts, mut kept_bytes) = (Attempts::default(), 0);
        for number in 0..240 {
            let text = format!(r#"{{"title":"t{}","page":{}}}"#, number / 3, number % 3);
            assert_eq!(attempts.count(&Fingerprint::of(&rules, "t", &text), &mut kept_bytes), 1);
        }
        assert!(!attempts.is_hashed && kept_bytes < MAX_KEPT_BYTES);
        let [same, other] = [r#"{"title":"t7","page":1}"#, r#"{"page":1,"title":"t7"}"#];
        let mut count = |text| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept_bytes);
        assert_eq!([count(same), count(other), count(same)], [2, 3, 4]);
        assert!(attempts.is_hashed);
    }

    #[test]
    fn counts_more_tools_than_it_keeps() {
        let mut tools = UsageByTool::default();
        let names = (0..2_000).map(|number| format!("tool_{number}")).collect::<Vec<_>>();
        for expected in [1, 2] {
            for name in &names {
                tools.get(name, None).calls += 1;
            }
            assert!(names.iter().all(|name| tools.get(name, None).calls == expected));
        }
        tools.clear();
        assert!(names.iter().all(|name| tools.get(name, None).calls == 0));
        tools.clear();
        assert!(tools.rest.is_some_and(|rest| rest.tools.len() == KEPT_TOOLS && rest.by_name.len() == KEPT_TOOLS));
    }
}

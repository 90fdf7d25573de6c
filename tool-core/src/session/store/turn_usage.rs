//! The counters of a session's turn: calls, empty results, and attempts with equal arguments.

use crate::arguments::fingerprint::Fingerprint;
use crate::session::store::session_store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::session::store::turn_report::{ToolTurnReport, TurnReport};
use crate::text::Name;
use crate::tool::Category;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The usage of the current turn.
#[derive(Default)]
#[repr(C)]
pub(crate) struct TurnUsage {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    texts: KeptTexts,
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
            tool.attempt(call, &mut self.texts)?;
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        // The narrowest budget first.
        check_budget(BudgetLimit::Tool, tool.calls, call.max_calls)?;
        check_budget(
            BudgetLimit::Category(call.category),
            *in_category,
            call.limits.category(call.category),
        )?;
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
            for count in [
                tool,
                &mut self.categories[settlement.category as usize],
                &mut self.total,
            ] {
                *count = count.saturating_sub(1);
            }
        }
        if settlement.empty {
            self.tools.get(settlement.tool, None).empty += 1;
        }
    }

    /// Begins the next turn, and returns its number.
    pub(crate) fn next_turn(&mut self) -> u64 {
        (self.turn, self.total, self.categories) = (self.turn + 1, 0, [0; 3]);
        self.texts.clear();
        self.tools.clear();
        self.turn
    }

    /// Returns the number of the turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns what the turn has used, for people. Tools that it has not tried are left out.
    pub(crate) fn report(&self) -> TurnReport {
        let categories = [Category::Retrieval, Category::Action, Category::Utility];
        let tools = self
            .tools
            .first
            .iter()
            .chain(self.tools.rest.iter().flat_map(|rest| &rest.tools));
        let reports = tools.map(|tool| (tool.name.to_string(), tool.report(&self.texts)));
        TurnReport {
            turn: self.turn,
            calls: self.total,
            categories: categories
                .map(|category| (category.as_str(), self.categories[category as usize]))
                .into(),
            tools: reports
                .filter(|(_, report)| *report != ToolTurnReport::default())
                .collect(),
        }
    }
}

impl UsageByTool {
    /// Returns the usage of a tool. `shared_name` is the name in a form that can be kept without a copy.
    #[inline]
    fn get(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage {
        if self.first.as_ref().is_none_or(|first| first.is(name)) {
            self.first
                .get_or_insert_with(|| ToolUsage::new(name, shared_name))
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
        Self {
            name,
            calls: 0,
            empty: 0,
            attempts: Attempts::default(),
        }
    }

    /// Compares names by address first, as the names of one tool usually share their text.
    #[inline]
    fn is(&self, name: &str) -> bool {
        std::ptr::eq(&raw const *self.name, name) || *self.name == *name
    }

    fn clear(&mut self) {
        (self.calls, self.empty, self.attempts) = (0, 0, Attempts::default());
    }

    fn report(&self, texts: &KeptTexts) -> ToolTurnReport {
        let most_equal_attempts = self.attempts.most_equal(texts);
        ToolTurnReport {
            calls: self.calls,
            empty_results: self.empty,
            most_equal_attempts,
        }
    }

    #[inline]
    fn attempt(&mut self, call: &Admission<'_>, texts: &mut KeptTexts) -> Result<(), Refusal> {
        // Counted even without a limit: another process may open this session with another policy.
        let count = self.attempts.count(&call.arguments, texts);
        if call
            .limits
            .repeated
            .is_some_and(|limit| count >= limit.max(1))
        {
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
    /// The index of the first text.
    first: Option<u32>,
    /// True once a hash had to decide.
    is_hashed: bool,
    /// The attempts that did not decode, and all attempts once a hash had to decide.
    hashes: Option<Box<AttemptHashes>>,
}

/// Attempts by the hash of their arguments, in two generations.
#[derive(Default)]
struct AttemptHashes {
    young: FxHashMap<u64, u32>,
    old: FxHashMap<u64, u32>,
}

/// The texts of a turn's attempts. Those at one tool differ from each other for certain, and form a tree.
///
/// Below a text are those that went the same way to it, by the first token in which each of them differs from the texts
/// above. Two texts whose first tokens of difference from a third one are not the same differ from each other.
#[derive(Default)]
#[repr(C)]
struct KeptTexts {
    /// All texts, one behind the other.
    bytes: Vec<u8>,
    kept: Vec<KeptText>,
    /// The part of [`MAX_KEPT_BYTES`] that the texts have taken.
    room_taken: usize,
    /// The index of each text by its place, once there are more than [`KEPT_ENTRIES`].
    by_place: Option<Box<FxHashMap<u64, usize>>>,
}

struct KeptText {
    /// The first text of the same tool (32 bits), and a hash of the text above and the token; 0 for the first text. Texts
    /// with the same hash are compared as if one were below the other, so the hash may be short.
    place: u64,
    /// The end of the text among all texts.
    end: u32,
    /// The attempts with this text.
    count: u32,
}

/// The bytes of arguments that a turn keeps. Attempts beyond them are hashed.
const MAX_KEPT_BYTES: usize = 32 * 1024;
/// The bytes that a text takes beside its own.
const ENTRY_BYTES: usize = 64;
/// The bytes of texts for which a session keeps room from turn to turn. As many are allocated at once, because each growth
/// would copy the texts.
const KEPT_CAPACITY: usize = 512;
/// The texts for which a session keeps room from turn to turn. They are searched without a map.
const KEPT_ENTRIES: usize = 8;

impl Attempts {
    /// Counts an attempt, and returns the number of attempts with equal arguments.
    fn count(&mut self, arguments: &Fingerprint<'_>, texts: &mut KeptTexts) -> u32 {
        let accepted = arguments.accepted().filter(|_| !self.is_hashed);
        if let Some(text) = accepted {
            let count = if let Some(first) = self.first {
                texts.count(first, arguments, text)
            } else {
                self.first = texts.add_first(text);
                self.first.map(|_| 1)
            };
            if let Some(count) = count {
                return count;
            }
        }
        self.compare_hashes(arguments, accepted.is_some(), texts)
    }

    /// Returns the most attempts with equal arguments.
    fn most_equal(&self, texts: &KeptTexts) -> u32 {
        let is_own = |kept: &&KeptText| Some(kept.place >> 32) == self.first.map(u64::from);
        let kept = texts.kept.iter().filter(is_own).map(|kept| kept.count);
        let hashed = self
            .hashes
            .iter()
            .flat_map(|hashes| hashes.young.values().chain(hashes.old.values()).copied());
        kept.chain(hashed).max().unwrap_or(0)
    }

    #[cold]
    fn compare_hashes(
        &mut self,
        arguments: &Fingerprint<'_>,
        begins: bool,
        texts: &KeptTexts,
    ) -> u32 {
        let hashes = self.hashes.get_or_insert_default();
        if begins {
            self.is_hashed = true;
            let is_own = |kept: &KeptText| Some(kept.place >> 32) == self.first.map(u64::from);
            for (index, kept) in texts
                .kept
                .iter()
                .enumerate()
                .filter(|(_, kept)| is_own(kept))
            {
                let text = str::from_utf8(texts.text(index)).unwrap_or_default();
                hashes
                    .young
                    .insert(arguments.with_text(text).fast(), kept.count);
            }
        }
        hashes.count(arguments.fast())
    }
}

impl KeptTexts {
    /// Keeps the first text of a tool and returns its index, if there is room.
    fn add_first(&mut self, text: &str) -> Option<u32> {
        let first = u32::try_from(self.kept.len()).ok()?;
        self.add(text, u64::from(first) << 32, text.len())
            .map(|()| first)
    }

    /// Counts a text of the tool whose first text is given. Returns `None` if it does not differ for certain from another
    /// one, or cannot be kept.
    #[inline]
    fn count(&mut self, first: u32, arguments: &Fingerprint<'_>, text: &str) -> Option<u32> {
        if self.text(first as usize) == text.as_bytes() {
            return Some(increment(&mut self.kept[first as usize].count));
        }
        self.count_below(first, arguments, text)
    }

    #[inline(never)]
    fn count_below(&mut self, first: u32, arguments: &Fingerprint<'_>, text: &str) -> Option<u32> {
        let mut above = first as usize;
        loop {
            let token = arguments.first_difference(self.text(above))?;
            let place = u64::from(first) << 32 | FxBuildHasher.hash_one((above, token)) >> 32 | 1;
            let Some(below) = self.find(place) else {
                return self.add(text, place, text.len() + ENTRY_BYTES).map(|()| 1);
            };
            // An index further up is that of another place with the same hash.
            above = Some(below).filter(|below| *below > above)?;
            if self.text(above) == text.as_bytes() {
                return Some(increment(&mut self.kept[above].count));
            }
        }
    }

    fn find(&mut self, place: u64) -> Option<usize> {
        if self.kept.len() <= KEPT_ENTRIES {
            return self.kept.iter().position(|kept| kept.place == place);
        }
        // No two texts have the same place, so those that are not in the map yet are the last ones.
        let by_place = self.by_place.get_or_insert_default();
        let added = self.kept.iter().enumerate().skip(by_place.len());
        by_place.extend(added.map(|(index, kept)| (kept.place, index)));
        by_place.get(&place).copied()
    }

    /// Adds a text with one attempt, if there is room.
    fn add(&mut self, text: &str, place: u64, room: usize) -> Option<()> {
        self.room_taken = Some(self.room_taken + room).filter(|taken| *taken <= MAX_KEPT_BYTES)?;
        if self.kept.capacity() == 0 {
            (self.bytes, self.kept) = (
                Vec::with_capacity(KEPT_CAPACITY),
                Vec::with_capacity(KEPT_ENTRIES),
            );
        }
        self.bytes.extend_from_slice(text.as_bytes());
        let end = u32::try_from(self.bytes.len()).ok()?;
        self.kept.push(KeptText {
            place,
            end,
            count: 1,
        });
        Some(())
    }

    #[inline]
    fn text(&self, index: usize) -> &[u8] {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.kept[before].end);
        &self.bytes[start as usize..self.kept[index].end as usize]
    }

    /// Forgets the turn, and frees its memory except for some room for the next one.
    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_CAPACITY);
        self.kept.clear();
        self.kept.shrink_to(KEPT_ENTRIES);
        (self.room_taken, self.by_place) = (0, None);
    }
}

fn increment(count: &mut u32) -> u32 {
    *count = count.saturating_add(1);
    *count
}

/// The attempts of a generation.
const GENERATION: usize = 1024;

impl AttemptHashes {
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
        let title = prop::sample::select(vec![
            r#""a""#,
            r#""ab""#,
            r#""abc""#,
            r#""\u0061b""#,
            r#""1""#,
        ]);
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
        (
            title,
            number(),
            prop::collection::vec(number(), 0..3),
            0..4_usize,
        )
            .prop_map(|(title, page, ids, form)| {
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
        let (mut attempts, mut kept) = (Attempts::default(), KeptTexts::default());
        kept.room_taken = kept_bytes;
        let mut count =
            |text: &String| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept);
        texts.iter().map(&mut count).collect()
    }

    fn expected(texts: &[String]) -> Vec<u32> {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let mut by_value = HashMap::new();
        texts
            .iter()
            .map(|text| increment(by_value.entry(rules.canonical_text(text)).or_default()))
            .collect()
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

    proptest! {
        #[test]
        fn counts_the_texts_of_each_tool_apart(calls in prop::collection::vec((0..3_usize, spelled()), 0..60)) {
            let rules = EqualityRules::of_schema(&json!({"type": "object"}));
            let (mut tools, mut kept) = (<[Attempts; 3]>::default(), KeptTexts::default());
            let mut count = |(tool, text): &(usize, String)| {
                tools[*tool].count(&Fingerprint::of(&rules, "t", text), &mut kept)
            };
            let counts = calls.iter().map(&mut count).collect::<Vec<_>>();
            let mut by_value = HashMap::new();
            let mut expect = |(tool, text): &(usize, String)| {
                increment(by_value.entry((*tool, rules.canonical_text(text))).or_default())
            };
            prop_assert_eq!(counts, calls.iter().map(&mut expect).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keeps_texts_that_differ_at_a_glance() {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let (mut attempts, mut kept) = (Attempts::default(), KeptTexts::default());
        for number in 0..240 {
            let text = format!(r#"{{"title":"t{}","page":{}}}"#, number / 3, number % 3);
            assert_eq!(
                attempts.count(&Fingerprint::of(&rules, "t", &text), &mut kept),
                1
            );
        }
        assert!(!attempts.is_hashed && kept.room_taken < MAX_KEPT_BYTES);
        let [same, other] = [r#"{"title":"t7","page":1}"#, r#"{"page":1,"title":"t7"}"#];
        let mut count = |text| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept);
        assert_eq!([count(same), count(other), count(same)], [2, 3, 4]);
        assert!(attempts.is_hashed);
    }

    #[test]
    fn counts_more_tools_than_it_keeps() {
        let mut tools = UsageByTool::default();
        let names = (0..2_000)
            .map(|number| format!("tool_{number}"))
            .collect::<Vec<_>>();
        for expected in [1, 2] {
            for name in &names {
                tools.get(name, None).calls += 1;
            }
            assert!(
                names
                    .iter()
                    .all(|name| tools.get(name, None).calls == expected)
            );
        }
        tools.clear();
        assert!(names.iter().all(|name| tools.get(name, None).calls == 0));
        tools.clear();
        assert!(
            tools.rest.is_some_and(
                |rest| rest.tools.len() == KEPT_TOOLS && rest.by_name.len() == KEPT_TOOLS
            )
        );
    }
}

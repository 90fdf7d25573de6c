//! The counters of a session's turn: calls, empty results, and attempts with equal arguments.

use crate::arguments::fingerprint::Fingerprint;
use crate::session::store::repeatable_calls::RepeatableCalls;
use crate::session::store::session_store::{Admission, BudgetLimit, Charge, Refusal, Settlement};
use crate::session::store::turn_report::{ToolTurnReport, TurnReport};
use crate::text::Name;
use crate::tool::Category;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::Hash;

/// The usage of the current turn. `A` counts the attempts at a tool.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "A: Serialize",
    deserialize = "A: Deserialize<'de> + CountAttempts"
))]
pub(crate) struct TurnUsage<A = Attempts> {
    turn: u64,
    total: u32,
    categories: [u32; 3],
    /// The bytes of arguments that the tools keep.
    #[serde(skip)]
    kept_bytes: usize,
    tools: UsageByTool<A>,
    /// The calls that may ask again.
    #[serde(default, skip_serializing_if = "RepeatableCalls::is_empty")]
    repeatable: RepeatableCalls,
}

/// The usage of each tool.
struct UsageByTool<A = Attempts> {
    /// The tool that was called first. It is inline, as most turns call one tool.
    first: Option<ToolUsage<A>>,
    rest: Option<Box<RestOfTools<A>>>,
}

/// The usage of the tools beside the first one.
struct RestOfTools<A> {
    tools: Vec<ToolUsage<A>>,
    /// The index of each tool.
    by_name: FxHashMap<Name, usize>,
}

/// The usage of one tool. It is kept from turn to turn, as a session calls the same tools again.
struct ToolUsage<A> {
    name: Name,
    calls: u32,
    empty: u32,
    attempts: A,
}

/// Counts the attempts at one tool in a turn by their arguments.
pub(crate) trait CountAttempts: Default {
    /// Counts an attempt, and returns the number of attempts with equal arguments. `kept_bytes` is
    /// the sum over the tools of the turn.
    fn count(&mut self, arguments: &Fingerprint<'_>, kept_bytes: &mut usize) -> u32;

    /// Returns the most attempts with equal arguments.
    fn most_equal(&self) -> u32;
}

/// The tools that are kept from turn to turn.
const KEPT_TOOLS: usize = 16;

impl<A> Default for TurnUsage<A> {
    fn default() -> Self {
        Self {
            turn: 0,
            total: 0,
            categories: [0; 3],
            kept_bytes: 0,
            tools: UsageByTool::default(),
            repeatable: RepeatableCalls::default(),
        }
    }
}

impl<A: CountAttempts> TurnUsage<A> {
    /// Counts the attempt, checks the limits, and charges the budgets. Returns the number of the
    /// turn.
    pub(crate) fn admit(&mut self, call: &Admission<'_>) -> Result<u64, Refusal> {
        if call.charge == Charge::Free {
            return Ok(self.turn);
        }
        let in_category = &mut self.categories[call.category as usize];
        let tool = self.tools.get(call.tool, call.name);
        if call.charge != Charge::Approved && !self.repeatable.is_counted(call.repeatable) {
            tool.attempt(call, &mut self.kept_bytes)?;
            self.repeatable.count(call.repeatable);
        }
        if call.charge == Charge::Attempt {
            return Ok(self.turn);
        }
        if self.repeatable.is_charged(call.repeatable) {
            if call.charge != Charge::Hold {
                self.repeatable.charge(call.repeatable);
            }
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
            self.repeatable.charge(call.repeatable);
        }
        Ok(self.turn)
    }

    /// Records the outcome of a call. Ignores calls of turns that are over.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        if settlement.turn != self.turn {
            return;
        }
        if settlement.refund && self.repeatable.refund(settlement.repeatable) {
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
        self.kept_bytes = 0;
        self.tools.clear();
        self.repeatable.clear();
        self.turn
    }

    /// Returns the number of the turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns what the turn has used, for people. Tools that it has not tried are left out.
    pub(crate) fn report(&self) -> TurnReport {
        let categories = [Category::Retrieval, Category::Action, Category::Utility];
        let tools = self.tools.iter();
        let reports = tools.map(|tool| (tool.name.to_string(), tool.report()));
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

impl<A> Default for UsageByTool<A> {
    fn default() -> Self {
        Self {
            first: None,
            rest: None,
        }
    }
}

impl<A> UsageByTool<A> {
    fn iter(&self) -> impl Iterator<Item = &ToolUsage<A>> {
        let rest = self.rest.iter().flat_map(|rest| &rest.tools);
        self.first.iter().chain(rest)
    }
}

impl<A: CountAttempts> UsageByTool<A> {
    /// Returns the usage of a tool. `shared_name` is the name in a form that can be kept without a
    /// copy.
    #[inline]
    fn get(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage<A> {
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

impl<A> Default for RestOfTools<A> {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            by_name: FxHashMap::default(),
        }
    }
}

impl<A: CountAttempts> RestOfTools<A> {
    fn get(&mut self, name: &str, shared_name: Option<&Name>) -> &mut ToolUsage<A> {
        let index = self.by_name.get(name).copied().unwrap_or_else(|| {
            let tool = ToolUsage::new(name, shared_name);
            self.by_name.insert(tool.name.clone(), self.tools.len());
            self.tools.push(tool);
            self.tools.len() - 1
        });
        &mut self.tools[index]
    }
}

impl<A: CountAttempts> ToolUsage<A> {
    fn new(name: &str, shared_name: Option<&Name>) -> Self {
        let name = shared_name.cloned().unwrap_or_else(|| name.into());
        Self {
            name,
            calls: 0,
            empty: 0,
            attempts: A::default(),
        }
    }

    /// Compares names by address first, as the names of one tool usually share their text.
    #[inline]
    fn is(&self, name: &str) -> bool {
        std::ptr::eq(&raw const *self.name, name) || *self.name == *name
    }

    fn clear(&mut self) {
        self.calls = 0;
        self.empty = 0;
        self.attempts = A::default();
    }

    fn report(&self) -> ToolTurnReport {
        ToolTurnReport {
            calls: self.calls,
            empty_results: self.empty,
            most_equal_attempts: self.attempts.most_equal(),
        }
    }

    #[inline]
    fn attempt(&mut self, call: &Admission<'_>, kept_bytes: &mut usize) -> Result<(), Refusal> {
        // Counted even without a limit: another process may open this session with another policy.
        let count = self.attempts.count(&call.arguments, kept_bytes);
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
/// A hash costs as much as reading the arguments again. Most turns call a tool once, or repeat one
/// text byte for byte, so the first text is kept and only compared. The first attempt with another
/// text has both hashed. Of very many different attempts, at least the last [`GENERATION`] are
/// known.
#[derive(Default)]
pub(crate) struct Attempts {
    accepted: AcceptedAttempts,
    /// The attempts that did not decode, and the accepted ones once they are hashed.
    hashes: Option<Box<AttemptHashes>>,
}

/// The attempts whose arguments the tool has accepted.
#[derive(Default)]
enum AcceptedAttempts {
    #[default]
    None,
    /// All attempts have this text.
    OneText { text: Box<str>, count: u32 },
    /// Their counts are among the hashes.
    Hashed,
}

/// Attempts by the hash of their arguments, in two generations.
#[derive(Serialize, Deserialize)]
#[serde(bound(
    serialize = "H: Serialize",
    deserialize = "H: Deserialize<'de> + Eq + Hash"
))]
struct AttemptHashes<H = u64> {
    young: FxHashMap<H, u32>,
    old: FxHashMap<H, u32>,
}

impl<H> Default for AttemptHashes<H> {
    fn default() -> Self {
        Self {
            young: FxHashMap::default(),
            old: FxHashMap::default(),
        }
    }
}

/// The bytes of arguments that a turn keeps. Attempts beyond them are hashed.
const MAX_KEPT_BYTES: usize = 32 * 1024;

impl CountAttempts for Attempts {
    #[inline]
    fn count(&mut self, arguments: &Fingerprint<'_>, kept_bytes: &mut usize) -> u32 {
        let Some(text) = arguments.accepted() else {
            return self.count_hash(arguments);
        };
        match &mut self.accepted {
            AcceptedAttempts::OneText { text: first, count } if **first == *text => {
                increment(count)
            }
            AcceptedAttempts::None if *kept_bytes + text.len() <= MAX_KEPT_BYTES => {
                *kept_bytes += text.len();
                self.accepted = AcceptedAttempts::OneText {
                    text: text.into(),
                    count: 1,
                };
                1
            }
            _ => self.count_accepted_hash(arguments),
        }
    }

    fn most_equal(&self) -> u32 {
        let of_one_text = match &self.accepted {
            AcceptedAttempts::OneText { count, .. } => *count,
            AcceptedAttempts::None | AcceptedAttempts::Hashed => 0,
        };
        let of_hashes = self.hashes.as_ref().map_or(0, |hashes| hashes.most_equal());
        of_one_text.max(of_hashes)
    }
}

impl Attempts {
    fn count_hash(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        let hashes = self.hashes.get_or_insert_default();
        hashes.count(arguments.fast(), 1)
    }

    fn count_accepted_hash(&mut self, arguments: &Fingerprint<'_>) -> u32 {
        let before = std::mem::replace(&mut self.accepted, AcceptedAttempts::Hashed);
        if let AcceptedAttempts::OneText { text, count } = before {
            let hashes = self.hashes.get_or_insert_default();
            hashes.count(arguments.with_text(&text).fast(), count);
        }
        self.count_hash(arguments)
    }
}

fn increment(count: &mut u32) -> u32 {
    *count = count.saturating_add(1);
    *count
}

/// The attempts of a generation.
const GENERATION: usize = 1024;

impl<H: Eq + Hash> AttemptHashes<H> {
    /// Adds attempts by the hash of their arguments, and returns the number of all with this hash.
    fn count(&mut self, hash: H, attempts: u32) -> u32 {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.get(&hash).copied().unwrap_or(0);
        let count = self.young.entry(hash).or_insert(before);
        *count = count.saturating_add(attempts);
        *count
    }

    fn most_equal(&self) -> u32 {
        let counts = self.young.values().chain(self.old.values());
        counts.copied().max().unwrap_or(0)
    }
}

/// The attempts at one tool in a turn as a database keeps them: by digests, which are the same in
/// every process.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StoredAttempts(AttemptHashes<Box<str>>);

/// The hexadecimal digits of a digest that tell the attempts of a turn apart.
const KEPT_DIGITS: usize = 32;

impl CountAttempts for StoredAttempts {
    fn count(&mut self, arguments: &Fingerprint<'_>, _: &mut usize) -> u32 {
        let mut digest = arguments.digest();
        digest.truncate(KEPT_DIGITS);
        self.0.count(digest.into(), 1)
    }

    fn most_equal(&self) -> u32 {
        self.0.most_equal()
    }
}

/// The usage of a tool as a database keeps it.
#[derive(Serialize, Deserialize)]
struct StoredToolUsage<N, A> {
    name: N,
    calls: u32,
    empty: u32,
    attempts: A,
}

impl<A: Serialize> Serialize for UsageByTool<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|tool| StoredToolUsage {
            name: &*tool.name,
            calls: tool.calls,
            empty: tool.empty,
            attempts: &tool.attempts,
        }))
    }
}

impl<'de, A: Deserialize<'de> + CountAttempts> Deserialize<'de> for UsageByTool<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tools = Self::default();
        for stored in Vec::<StoredToolUsage<String, A>>::deserialize(deserializer)? {
            let tool = tools.get(&stored.name, None);
            tool.calls = stored.calls;
            tool.empty = stored.empty;
            tool.attempts = stored.attempts;
        }
        Ok(tools)
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

    fn counts(texts: &[String], mut kept_bytes: usize) -> Vec<u32> {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let mut attempts = Attempts::default();
        texts
            .iter()
            .map(|text| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept_bytes))
            .collect()
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
        fn counts_equal_arguments_in_any_spelling(texts in prop::collection::vec(spelled(), 0..60), room in 0..100_usize) {
            prop_assert_eq!(counts(&texts, MAX_KEPT_BYTES - room), expected(&texts));
        }

        // One spelling, and few texts, so that some cases have one text only, which is kept and
        // never hashed.
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
            let mut tools = <[Attempts; 3]>::default();
            let mut kept_bytes = 0;
            let mut count = |(tool, text): &(usize, String)| {
                tools[*tool].count(&Fingerprint::of(&rules, "t", text), &mut kept_bytes)
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
    fn keeps_one_text_of_a_tool() {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let mut attempts = Attempts::default();
        let mut kept_bytes = 0;
        let mut count = |text| attempts.count(&Fingerprint::of(&rules, "t", text), &mut kept_bytes);
        let first = r#"{"title":"t7","page":1}"#;
        let spelled_otherwise = r#"{"page":1,"title":"t7"}"#;
        assert_eq!([count(first), count(first)], [1, 2]);
        assert_eq!(
            [
                count(r#"{"title":"t8"}"#),
                count(spelled_otherwise),
                count(first)
            ],
            [1, 3, 4]
        );
        assert_eq!(kept_bytes, first.len());
    }

    #[test]
    fn keeps_no_text_beyond_the_bound() {
        let rules = EqualityRules::of_schema(&json!({"type": "object"}));
        let text = format!(r#"{{"title":"{}"}}"#, "x".repeat(MAX_KEPT_BYTES / 2));
        let mut tools = <[Attempts; 3]>::default();
        let mut kept_bytes = 0;
        for expected in 1..=3 {
            for attempts in &mut tools {
                let arguments = Fingerprint::of(&rules, "t", &text);
                assert_eq!(attempts.count(&arguments, &mut kept_bytes), expected);
            }
        }
        assert_eq!(kept_bytes, text.len());
    }

    #[test]
    fn counts_more_tools_than_it_keeps() {
        let mut tools = UsageByTool::<Attempts>::default();
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

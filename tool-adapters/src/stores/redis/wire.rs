//! What a script has decided, in the words of the core.

use crate::stores::redis::Link;
use crate::stores::redis::{RESERVE, REVISE, STALE};
use std::time::Duration;
use tool_core::serde::Serialize;
use tool_core::session::{BudgetLimit, Charge, Refusal, SessionState, StateChange, StoreError, Verdict};
use tool_core::{Category, serde_json};

/// A script's answer.
pub(crate) struct Answer {
    words: Vec<String>,
    turn: u64,
}

impl Answer {
    /// The words of an answer, and the turn in which it was given.
    pub(crate) fn new(words: Vec<String>, turn: u64) -> Self {
        Self { words, turn }
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.words.first().is_some_and(|first| first == word)
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// What follows the first word.
    pub(crate) fn second(&self) -> Option<&str> {
        self.words.get(1).map(String::as_str)
    }

    /// What it says of a call of a tool of `category`.
    pub(crate) fn verdict(&self, category: Category) -> Result<Verdict, StoreError> {
        let (word, figures) = self.words.split_first().ok_or_else(not_understood)?;
        let figures = figures.iter().map(|figure| figure.parse::<u32>().map_err(|_| not_understood()));
        let figures = figures.collect::<Result<Vec<_>, _>>()?;
        let budget = |limit, used, of| Ok(Verdict::Refused(Refusal::Budget { limit, used, of }));
        match (word.as_str(), figures.as_slice()) {
            ("admitted", []) => Ok(Verdict::Admitted { turn: self.turn }),
            ("inactive", []) => Ok(Verdict::Inactive),
            ("repeated", [count]) => Ok(Verdict::Refused(Refusal::Repeated(*count))),
            ("empty", [count]) => Ok(Verdict::Refused(Refusal::Empty(*count))),
            ("tool", [used, of]) => budget(BudgetLimit::Tool, *used, *of),
            ("category", [used, of]) => budget(BudgetLimit::Category(category), *used, *of),
            ("total", [used, of]) => budget(BudgetLimit::Total, *used, *of),
            _ => Err(not_understood()),
        }
    }
}

/// A charge, as the scripts name it.
pub(crate) fn charge(charge: Charge) -> Result<&'static str, StoreError> {
    Ok(match charge {
        Charge::Run => "run",
        Charge::Hold => "hold",
        Charge::Attempt => "attempt",
        Charge::Approved => "approved",
        Charge::Free => "free",
        // Rather no call than one that is not counted.
        _ => return Err(StoreError::new("a charge that this version of the Redis store does not know")),
    })
}

fn not_understood() -> StoreError {
    StoreError::new("Redis answered something that no script says")
}

// ---- How a session's state and its changes are written in Redis.
//
// A field a piece, so that a change needs to know nothing of the rest; values are JSON texts that come back as they were.

const AUDIO: &str = "audio";
const TRANSCRIPT: &str = "transcript";
const MESSAGE: &str = "message";
/// The scripts read this one.
const ENDING: &str = "ending";
const VALUE: &str = "value:";

/// A change as scripts take it: the field, and `=` with its value, or nothing where the field goes.
pub(crate) fn change(change: &StateChange) -> Result<[String; 2], StoreError> {
    let flag = |yes: bool| if yes { "=1".to_owned() } else { String::new() };
    Ok(match change {
        StateChange::AudioSuppressed(yes) => [AUDIO.to_owned(), flag(*yes)],
        StateChange::TranscriptSuppressed(yes) => [TRANSCRIPT.to_owned(), flag(*yes)],
        StateChange::Ending(yes) => [ENDING.to_owned(), flag(*yes)],
        StateChange::PendingMessage(to) => {
            [MESSAGE.to_owned(), to.as_ref().map_or_else(String::new, |message| format!("={message}"))]
        }
        StateChange::Value(name, to) => {
            let to = if to.is_null() { String::new() } else { format!("={to}") };
            [format!("{VALUE}{name}"), to]
        }
        _ => return Err(StoreError::new("a change of the state that this version of the Redis store does not know")),
    })
}

/// The state that fields make.
pub(crate) fn state(fields: Vec<(String, String)>) -> Result<SessionState, StoreError> {
    let mut state = SessionState::default();
    for (field, text) in fields {
        match field.as_str() {
            AUDIO => state.audio_suppressed = true,
            TRANSCRIPT => state.transcript_suppressed = true,
            ENDING => state.ending = true,
            MESSAGE => state.pending_message = Some(text),
            // A field of a later version is for those who know it.
            field => {
                if let Some(name) = field.strip_prefix(VALUE) {
                    let value = serde_json::from_str(&text)
                        .map_err(|_| StoreError::new("a value of the session's state does not read"))?;
                    state.values.insert(name.to_owned(), value);
                }
            }
        }
    }
    Ok(state)
}

/// As JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::new("something that cannot be written as JSON"))
}

/// A duration in milliseconds that a server takes: at least one, and at most a hundred years.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    u64::try_from(time.as_millis()).unwrap_or(CENTURY).clamp(1, CENTURY)
}

// ---- Where a session lies.

/// The keys of a session, as the scripts take them. All have the same hash tag, so that a cluster keeps them together.
pub(crate) struct Keys([String; 8]);

impl Keys {
    pub(crate) fn new(prefix: &str, id: &str) -> Self {
        let tag = format!("{{{}:{}}}", escaped(prefix, ""), escaped(id, ":"));
        let parts = ["session", "turn", "state", "audit", "pending", "waiting", "young", "old"];
        Self(parts.map(|part| format!("{tag}:{part}")))
    }

    /// Where the session itself is; without it, there is none.
    pub(crate) fn session(&self) -> &str {
        let [session, ..] = &self.0;
        session
    }

    pub(crate) fn all(&self) -> &[String] {
        &self.0
    }
}

/// The key of the places that open sessions take, which is in a slot of its own.
pub(crate) fn places(prefix: &str) -> String {
    format!("{{{}}}:places", escaped(prefix, ""))
}

/// A text without braces, which would end the hash tag early, and without `also`, which would let two sessions of
/// different prefixes have the same key.
fn escaped(text: &str, also: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '{' => escaped.push_str("%7B"),
            '}' => escaped.push_str("%7D"),
            '%' => escaped.push_str("%25"),
            ':' if also.contains(':') => escaped.push_str("%3A"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_session_have_one_hash_tag_whatever_its_id() {
        for id in ["a", "", "}", "a}b{c", "{x}", "a:b", "\u{0}"] {
            let keys = Keys::new("app:prod", id);
            let tags = keys.all().iter().map(|key| key.split('}').next()).collect::<Vec<_>>();
            assert!(tags.iter().all(|tag| *tag == tags[0] && tag.is_some_and(|tag| tag.len() > 1)), "{tags:?}");
        }
    }

    #[test]
    fn no_two_sessions_have_the_same_key() {
        let pairs = [("a", "b:c"), ("a:b", "c"), ("a", "b%3Ac"), ("a", "b}"), ("a", "b%7D"), ("a}", "b"), ("", "a:b")];
        let mut keys = pairs.map(|(prefix, id)| Keys::new(prefix, id).session().to_owned()).to_vec();
        keys.extend(["a", "a:b", "a}", ""].map(places));
        keys.sort();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }
}

// ---- The places that open sessions take, of which there are as many as the policy says.
//
// A place belongs to one session: its member is the session's incarnation and its id. Its score is when the session
// expires if nobody uses it, which nobody keeps up to date while it is used: those whose time has come are looked at
// again before anyone is refused.

pub(crate) struct Places {
    prefix: String,
    key: String,
}

/// As many are looked at in one round trip.
const BATCH: usize = 500;

impl Places {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), key: places(prefix) }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Takes a place. False where there is none, though sessions that are over have made room.
    pub(crate) async fn take(&self, link: &Link, member: &str, idle: Duration, all: u64) -> Result<bool, StoreError> {
        Ok(self.reserve(link, member, idle, all).await?
            || (self.sweep(link).await? && self.reserve(link, member, idle, all).await?))
    }

    async fn reserve(&self, link: &Link, member: &str, idle: Duration, all: u64) -> Result<bool, StoreError> {
        link.script(RESERVE.key(&self.key).arg(member).arg(milliseconds(idle)).arg(all)).await
    }

    /// Gives a place back.
    pub(crate) async fn free(&self, link: &Link, member: &str) -> Result<(), StoreError> {
        link.pipeline(redis::pipe().zrem(&self.key, member).ignore()).await
    }

    /// How many are taken.
    pub(crate) async fn taken(&self, link: &Link) -> Result<u64, StoreError> {
        self.sweep(link).await?;
        let (taken,) = link.pipeline(redis::pipe().zcard(&self.key)).await?;
        Ok(taken)
    }

    /// Looks at those whose sessions may be over. True where there were any.
    async fn sweep(&self, link: &Link) -> Result<bool, StoreError> {
        let mut any = false;
        loop {
            let stale: Vec<String> = link.script(STALE.key(&self.key).arg(BATCH)).await?;
            if stale.is_empty() {
                return Ok(any);
            }
            any = true;
            self.revise(link, &stale).await?;
        }
    }

    async fn revise(&self, link: &Link, members: &[String]) -> Result<(), StoreError> {
        let mut questions = redis::pipe();
        for member in members {
            let (_, id) = split(member);
            let keys = Keys::new(&self.prefix, id);
            questions.pttl(keys.session()).hmget(keys.session(), &["incarnation", "ended"]);
        }
        let answers: Vec<redis::Value> = link.pipeline(&questions).await?;
        let mut revision = REVISE.key(&self.key);
        for (member, answers) in members.iter().zip(answers.chunks(2)) {
            revision.arg(member).arg(remaining(split(member).0, answers));
        }
        link.script(&revision).await
    }
}

/// The milliseconds for which a session still lives.
fn remaining(incarnation: &str, answers: &[redis::Value]) -> i64 {
    let [remaining, fields] = answers else { return 0 };
    let fields = redis::from_redis_value_ref::<(Option<String>, Option<String>)>(fields);
    let is_live = matches!(fields, Ok((Some(found), None)) if found == incarnation);
    if is_live { redis::from_redis_value_ref(remaining).unwrap_or(0) } else { 0 }
}

/// The member for a session.
pub(crate) fn member(incarnation: &str, id: &str) -> String {
    format!("{incarnation}{id}")
}

/// An incarnation is 32 hexadecimal digits.
fn split(member: &str) -> (&str, &str) {
    member.split_at_checked(32).unwrap_or((member, ""))
}

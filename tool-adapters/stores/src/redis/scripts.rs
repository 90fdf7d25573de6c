//! The scripts that run on the server, and the names of their keys and arguments.
//!
//! A script is a file in `lua`. Its arguments are the fields of a struct of this file, and the
//! script has each of them in a local of the same name, as a text. A key has its name in capitals.
//! The arguments after the named ones are read from `ARGV`, from the index `REST` on.

use redis::{RedisWrite, Script, ScriptInvocation, ToRedisArgs};
use std::sync::LazyLock;

/// The keys of a session, in the order in which the scripts take them.
pub(crate) const SESSION_KEYS: [&str; 10] = [
    "session", "turn", "state", "audit", "pending", "waiting", "young", "old", "grants", "calls",
];

/// The keys behind those of a session: the slots of all sessions, the amounts of the principal, the
/// principal's calls that wait for approval, and the mark of an amount that is charged, if the call
/// has one.
const OTHER_KEYS: [&str; 4] = ["slots", "spent", "asked", "charged"];

/// The arguments of a script.
pub(crate) trait ScriptArguments {
    /// The names of the locals, in the order of the arguments.
    const NAMES: &'static [&'static str];

    /// Adds the arguments to a call of the script.
    fn add_to(&self, call: &mut ScriptInvocation<'_>);
}

/// A script of a session, with its arguments. Those of [`Caller`] come before them.
pub(crate) trait SessionScript: ScriptArguments {
    /// Returns the script. It is loaded into a server when the server first answers that it does
    /// not have it.
    fn script() -> &'static Script;
}

/// Defines a struct of arguments.
macro_rules! arguments {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        pub(crate) struct $name $(<$life>)? {
            $($(#[$field_doc])* pub(crate) $field: $type,)*
        }

        impl $(<$life>)? ScriptArguments for $name $(<$life>)? {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            #[allow(unused_variables, reason = "some scripts have no arguments of their own")]
            fn add_to(&self, call: &mut ScriptInvocation<'_>) {
                $(call.arg(&self.$field);)*
            }
        }
    };
}

/// Defines the scripts of a session.
macro_rules! session_scripts {
    ($($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? in $file:literal $fields:tt)*) => {$(
        arguments! { $(#[$doc])* $name $(<$life>)? $fields }

        impl $(<$life>)? SessionScript for $name $(<$life>)? {
            fn script() -> &'static Script {
                static SCRIPT: LazyLock<Script> = LazyLock::new(|| {
                    session_script(
                        $name::NAMES,
                        include_str!(concat!("lua/", $file, ".lua")),
                    )
                });
                &SCRIPT
            }
        }
    )*};
}

arguments! {
    /// The caller of a script of a session.
    Caller<'a> {
        /// The caller's session of this id.
        incarnation: &'a str,
        /// The version of the state that the caller has.
        known_state: OrEmpty<u64>,
        /// The number of entries of the log that the caller has.
        known_entries: u64,
    }
}

session_scripts! {
    /// Joins the session that is open under this id, or opens one.
    OpenSession<'a> in "open" {
        principal: &'a str,
        agent: &'a str,
        mode: &'static str,
        /// The version of the tools.
        tools: &'a str,
        /// The milliseconds after which an unused session expires.
        idle: u64,
        /// The milliseconds for which calls are kept after the end.
        keeps: u64,
        max_sessions: u64,
        /// The member of a new session among the slots.
        member: &'a str,
    }

    /// Counts an attempt, checks it against the limits, and charges it.
    Admit<'a> in "admit" {
        charge: &'static str,
        tool: &'a str,
        category: &'static str,
        /// The digest of the arguments.
        attempt: &'a str,
        max_repeated: OrEmpty<u32>,
        max_empty: OrEmpty<u32>,
        max_of_tool: OrEmpty<u32>,
        max_of_category: OrEmpty<u32>,
        max_calls: OrEmpty<u32>,
        has_caps: bool,
        turn_cost: OrEmpty<u64>,
        session_cost: OrEmpty<u64>,
        principal_cost: OrEmpty<u64>,
        turn_time: OrEmpty<u64>,
        session_time: OrEmpty<u64>,
        principal_time: OrEmpty<u64>,
    }

    /// Records the end of a call. The changes of the state follow, and then the entries of the log.
    Settle<'a> in "settle" {
        tool: &'a str,
        category: &'static str,
        turn: u64,
        /// True if the call is given back to its budgets.
        refund: bool,
        /// True if the result was empty.
        empty: bool,
        cost: u64,
        time: u64,
        /// The milliseconds after which the amounts of the principal count from zero. Empty if
        /// nothing was spent.
        window: OrEmpty<u64>,
        /// The part of the cost that the principal pays.
        principal_cost: u64,
        /// The number of arguments of the changes.
        changes: usize,
    }

    /// Keeps an answered call, unless it is empty. Its entry of the log follows, if it has one.
    KeepCall<'a> in "keep_call" {
        call: &'a str,
        /// The bytes that all calls of the session may take.
        max_bytes: usize,
    }

    /// Ends the turn, and the session if a tool has asked for that.
    NextTurn<'a> in "next_turn" {
        /// The session's member among the slots.
        member: &'a str,
    }

    /// Changes the mode of the conversation.
    SwitchMode in "switch_mode" {
        mode: &'static str,
    }

    /// Keeps a call until a person has approved or denied it.
    Mint<'a> in "mint" {
        id: &'a str,
        call: &'a str,
        /// The milliseconds for which the call waits.
        lifetime: u64,
        turn: u64,
        bytes: usize,
        /// The calls of the session that may wait.
        max_of_session: u32,
        /// The calls of one turn that may wait.
        max_of_turn: u32,
        /// The bytes that may wait.
        max_bytes: usize,
        /// The session's member among the slots.
        member: &'a str,
    }

    /// Reads a call that waits for approval, and removes it if `take` is true.
    ReadPending<'a> in "pending" {
        id: &'a str,
        take: bool,
        /// The session's member among the slots.
        member: &'a str,
    }

    /// Takes a call that waits for approval, and keeps a grant in its place.
    GrantCalls<'a> in "grant" {
        /// The id of the call.
        call: &'a str,
        /// The id of the grant.
        id: &'a str,
        grant: &'a str,
        /// The milliseconds after which the grant ends.
        lifetime: u64,
        /// The grants that the session may have.
        most: u32,
        /// The session's member among the slots.
        member: &'a str,
    }

    /// Reads the grants that have not ended.
    ReadGrants in "grants" {}

    /// Removes a grant.
    RevokeGrant<'a> in "revoke" {
        id: &'a str,
    }

    /// Changes the state for the host. The changes follow.
    ChangeState in "change" {}

    /// Ends the session.
    EndSession<'a> in "end" {
        /// The session's member among the slots.
        member: &'a str,
    }

    /// Reads the changes that the caller does not have yet.
    Refresh in "refresh" {}
}

/// Defines the scripts of conversations. `histories.rs` gives the arguments in the order of their
/// names here.
macro_rules! conversation_scripts {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) in $($file:literal)+;)*) => {$(
        $(#[$doc])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            let body = concat!($(include_str!(concat!("lua/", $file, ".lua")), "\n"),+);
            script(&[&[$(stringify!($argument)),*]], body)
        });
    )*};
}

conversation_scripts! {
    /// Appends messages, whose texts follow.
    APPEND(id, member, expected, max_messages, max_bytes) in "conversation" "append";

    /// Replaces the info.
    DESCRIBE(id, member, info) in "conversation" "describe";

    /// Copies the first messages into a new conversation.
    BRANCH(id, member, created, messages, info) in "conversation" "branch";

    /// Deletes a conversation, unless it was used since then.
    DELETE_CONVERSATION(id, member, since) in "conversation" "delete_conversation";

    /// Reads a conversation at one moment.
    READ_CONVERSATION(first, stop, max_bytes) in "read_conversation";

    /// Reads a page of a principal's conversations.
    PAGE(most, time, id) in "bytes" "page";
}

arguments! {
    /// The arguments of [`ASKED_CALLS`].
    AskedCalls<'a> {
        /// The most calls of a page.
        most: u32,
        /// The place behind which the page begins, if it is not the first page.
        after_time: OrEmpty<u64>,
        after_id: &'a str,
    }
}

/// Returns a page of a principal's calls that wait for approval, as they are listed: members and
/// scores.
pub(crate) static ASKED_CALLS: LazyLock<Script> = LazyLock::new(|| {
    let body = concat!(
        include_str!("lua/bytes.lua"),
        "\n",
        include_str!("lua/asked.lua")
    );
    script(&[AskedCalls::NAMES], body)
});

arguments! {
    /// The arguments of [`ACQUIRE_PERMIT`] and [`EXTEND_PERMIT`].
    PermitHolder {
        /// Distinguishes the call from all others.
        holder: String,
        /// The milliseconds after which its places are free, if it does not keep them for longer.
        lease: u64,
    }
}

/// Checks a call against limits that all sessions share, and counts it.
pub(crate) static ACQUIRE_PERMIT: LazyLock<Script> =
    LazyLock::new(|| script(&[PermitHolder::NAMES], include_str!("lua/acquire.lua")));

/// Keeps the places of a call for longer.
pub(crate) static EXTEND_PERMIT: LazyLock<Script> =
    LazyLock::new(|| script(&[PermitHolder::NAMES], include_str!("lua/extend.lua")));

arguments! {
    /// The arguments of [`STALE_SLOTS`].
    StaleSlots {
        /// The maximum number of slots.
        limit: usize,
    }
}

/// Returns the slots whose sessions may have expired.
pub(crate) static STALE_SLOTS: LazyLock<Script> =
    LazyLock::new(|| script(&[StaleSlots::NAMES], include_str!("lua/stale.lua")));

/// Frees slots, or keeps them for longer. Its arguments are pairs of a member and the milliseconds
/// until its session expires.
pub(crate) static REVISE_SLOTS: LazyLock<Script> =
    LazyLock::new(|| script(&[], include_str!("lua/revise.lua")));

arguments! {
    /// The arguments of [`JOURNAL_START`].
    StartJournalCall<'a> {
        process: &'a str,
        /// The id of the call.
        id: &'a str,
        entry: &'a str,
        /// The milliseconds of the call's time limit.
        limit: u64,
        /// The number of the call that this one replaces.
        replaces: OrEmpty<u64>,
        /// The id of its approval; empty if it has none.
        approval: &'a str,
        /// The milliseconds for which a call is kept.
        keep: u64,
    }
}

/// Records a call in the journal.
pub(crate) static JOURNAL_START: LazyLock<Script> = LazyLock::new(|| {
    journal_script(
        StartJournalCall::NAMES,
        include_str!("lua/journal_start.lua"),
    )
});

arguments! {
    /// The arguments of [`JOURNAL_FIND`].
    FindJournalCall<'a> {
        process: &'a str,
        /// The id of the call.
        id: &'a str,
    }
}

/// Looks up a call that another process has recorded.
pub(crate) static JOURNAL_FIND: LazyLock<Script> =
    LazyLock::new(|| journal_script(FindJournalCall::NAMES, include_str!("lua/journal_find.lua")));

arguments! {
    /// The arguments of [`JOURNAL_FINISH`].
    FinishJournalCall<'a> {
        process: &'a str,
        /// The id of the call.
        id: &'a str,
        response: &'a str,
    }
}

/// Records the end of a call in the journal.
pub(crate) static JOURNAL_FINISH: LazyLock<Script> = LazyLock::new(|| {
    journal_script(
        FinishJournalCall::NAMES,
        include_str!("lua/journal_finish.lua"),
    )
});

arguments! {
    /// The arguments of [`JOURNAL_READ`].
    ReadJournal<'a> {
        process: &'a str,
    }
}

/// Reads the calls of other processes.
pub(crate) static JOURNAL_READ: LazyLock<Script> =
    LazyLock::new(|| journal_script(ReadJournal::NAMES, include_str!("lua/journal_read.lua")));

arguments! {
    /// The arguments of [`JOURNAL_BEAT`].
    BeatJournal<'a> {
        process: &'a str,
        /// The milliseconds until which the process counts as alive.
        lease: u64,
    }
}

/// Notes that a process lives.
pub(crate) static JOURNAL_BEAT: LazyLock<Script> =
    LazyLock::new(|| journal_script(BeatJournal::NAMES, include_str!("lua/journal_beat.lua")));

/// Makes a script of the journal.
fn journal_script(arguments: &[&str], body: &str) -> Script {
    let beginning = include_str!("lua/journal.lua");
    script(&[arguments], &format!("{beginning}\n{body}"))
}

fn script(arguments: &[&[&str]], body: &str) -> Script {
    Script::new(&(names(arguments) + body))
}

/// Makes a script of a session.
fn session_script(arguments: &[&str], body: &str) -> Script {
    let keys = SESSION_KEYS.map(str::to_uppercase).join(", ");
    let others = OTHER_KEYS.map(str::to_uppercase).join(", ");
    let code = format!(
        "local {keys}, {others} = unpack(KEYS)\nlocal SESSION_KEYS = {{ {keys} }}\n{}{}\n{body}",
        names(&[Caller::NAMES, arguments]),
        include_str!("lua/session.lua"),
    );
    Script::new(&code)
}

/// Returns the beginning of a script, which names its arguments.
fn names(groups: &[&[&str]]) -> String {
    let names = groups.concat();
    let mut lines = Vec::new();
    for (at, name) in names.iter().enumerate() {
        lines.push(format!("local {name} = ARGV[{}]\n", at + 1));
    }
    lines.push(format!("local REST = {}\n", names.len() + 1));
    lines.concat()
}

/// A number, or an empty text.
#[derive(Clone, Copy, Default)]
pub(crate) struct OrEmpty<T>(pub(crate) Option<T>);

impl<T: ToRedisArgs> ToRedisArgs for OrEmpty<T> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        match &self.0 {
            Some(value) => value.write_redis_args(out),
            None => "".write_redis_args(out),
        }
    }
}

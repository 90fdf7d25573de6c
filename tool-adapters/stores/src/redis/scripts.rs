//! The scripts that run on the server, and the names of their keys and arguments.
//!
//! A script is a file in `lua`. Its arguments are the fields of a struct of this file, and the
//! script has each of them in a local of the same name, as a text. A key has its name in capitals.
//! The arguments after the named ones are read from `ARGV`, from the index `REST` on.

use crate::redis::script::{LuaScript, ScriptCall};
use redis::{RedisWrite, ToRedisArgs};
use std::sync::LazyLock;

/// The keys of a session, in the order in which the scripts take them.
pub(crate) const SESSION_KEYS: [&str; 10] = [
    "session", "turn", "state", "audit", "pending", "waiting", "young", "old", "grants", "calls",
];

/// The key behind those of a session, if the call has one: the mark of an amount that is charged.
const CHARGED_KEY: &str = "charged";

/// The arguments of a script.
pub(crate) trait ScriptArguments {
    /// The names of the locals, in the order of the arguments.
    const NAMES: &'static [&'static str];

    /// Adds the arguments to a call of the script.
    fn add_to(&self, call: &mut ScriptCall);
}

/// A script of a session, with its arguments. Those of [`Caller`] come before them.
pub(crate) trait SessionScript: ScriptArguments {
    /// Returns the script. A server that answers that it does not have it gets its text.
    fn script() -> &'static LuaScript;
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
            fn add_to(&self, call: &mut ScriptCall) {
                $(call.arg(&self.$field);)*
            }
        }
    };
}

/// Defines the scripts of a session: those that change it, and those that only read it.
macro_rules! session_scripts {
    ($($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? $does:ident in $file:literal $fields:tt)*) => {$(
        arguments! { $(#[$doc])* $name $(<$life>)? $fields }

        impl $(<$life>)? SessionScript for $name $(<$life>)? {
            fn script() -> &'static LuaScript {
                static SCRIPT: LazyLock<LuaScript> = LazyLock::new(|| {
                    session_script(
                        $name::NAMES,
                        include_str!(concat!("lua/", $file, ".lua")),
                        stringify!($does) == "changes",
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
    }
}

session_scripts! {
    /// Joins the session that is open under this id, or opens one if it may.
    OpenSession<'a> changes in "open" {
        principal: &'a str,
        agent: &'a str,
        mode: &'static str,
        /// The version of the tools.
        tools: &'a str,
        /// The milliseconds after which an unused session expires.
        idle: u64,
        /// The milliseconds for which calls are kept after the end.
        keeps: u64,
        /// True if the session has its place among the open ones.
        may_open: bool,
    }

    /// Counts an attempt, checks it against the limits, and charges it.
    Admit<'a> changes in "admit" {
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
        /// The distinction of the call, if it may ask again.
        repeatable: &'a str,
        has_caps: bool,
        turn_cost: OrEmpty<u64>,
        session_cost: OrEmpty<u64>,
        principal_cost: OrEmpty<u64>,
        turn_time: OrEmpty<u64>,
        session_time: OrEmpty<u64>,
        principal_time: OrEmpty<u64>,
        /// The amounts that the principal has spent, and the milliseconds until they count from
        /// zero.
        spent_cost: u64,
        spent_time: u64,
        spent_window: i64,
    }

    /// Records the end of a call. The changes of the state follow, and then the entries of the log.
    Settle<'a> changes in "settle" {
        tool: &'a str,
        category: &'static str,
        turn: u64,
        /// True if the call is given back to its budgets.
        refund: bool,
        /// The distinction of the call, if it may ask again.
        repeatable: &'a str,
        /// True if the result was empty.
        empty: bool,
        cost: u64,
        time: u64,
        /// True if cost and time are charged.
        spends: bool,
        /// The number of arguments of the changes.
        changes: usize,
    }

    /// Keeps an answered call, unless it is empty. Its entry of the log follows, if it has one.
    KeepCall<'a> changes in "keep_call" {
        call: &'a str,
        /// The bytes that all calls of the session may take.
        max_bytes: usize,
    }

    /// Ends the turn, and the session if a tool has asked for that.
    NextTurn changes in "next_turn" {}

    /// Changes the mode of the conversation.
    SwitchMode changes in "switch_mode" {
        mode: &'static str,
    }

    /// Keeps a call until a person has approved or denied it.
    Mint<'a> changes in "mint" {
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
    }

    /// Reads a call that waits for approval, and removes it if `take` is true.
    ReadPending<'a> changes in "pending" {
        id: &'a str,
        take: bool,
    }

    /// Takes a call that waits for approval, and keeps a grant in its place.
    GrantCalls<'a> changes in "grant" {
        /// The id of the call.
        call: &'a str,
        /// The id of the grant.
        id: &'a str,
        grant: &'a str,
        /// The milliseconds after which the grant ends.
        lifetime: u64,
        /// The grants that the session may have.
        most: u32,
    }

    /// Reads the grants that have not ended.
    ReadGrants reads in "grants" {}

    /// Removes a grant.
    RevokeGrant<'a> changes in "revoke" {
        id: &'a str,
    }

    /// Changes the state for the host. The changes follow.
    ChangeState changes in "change" {}

    /// Ends the session.
    EndSession changes in "end" {}

    /// Reads the changes that the caller does not have yet.
    Refresh reads in "refresh" {}

    /// Reads the entries of the log.
    ReadAudit reads in "audit" {}
}

/// Defines the scripts of conversations. `histories.rs` gives the arguments in the order of their
/// names here.
macro_rules! conversation_scripts {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) $does:ident in $($file:literal)+;)*) => {$(
        $(#[$doc])*
        pub(crate) static $name: LazyLock<LuaScript> = LazyLock::new(|| {
            let body = concat!($(include_str!(concat!("lua/", $file, ".lua")), "\n"),+);
            script(&[&[$(stringify!($argument)),*]], body, stringify!($does) == "changes")
        });
    )*};
}

conversation_scripts! {
    /// Appends messages, whose texts follow.
    APPEND(id, member, expected, max_messages, max_bytes) changes in "conversation" "append";

    /// Replaces the info.
    DESCRIBE(id, member, info) changes in "conversation" "describe";

    /// Copies the first messages into a new conversation.
    BRANCH(id, member, created, messages, info) changes in "conversation" "branch";

    /// Deletes a conversation, unless it was used since then.
    DELETE_CONVERSATION(id, member, since) changes in "conversation" "delete_conversation";

    /// Reads a part of a conversation at one moment.
    READ_CONVERSATION(first, stop, max_bytes) reads in "read_conversation";

    /// Reads a page of a principal's conversations.
    PAGE(most, time, id) reads in "bytes" "page";
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
pub(crate) static ASKED_CALLS: LazyLock<LuaScript> = LazyLock::new(|| {
    let body = concat!(
        include_str!("lua/bytes.lua"),
        "\n",
        include_str!("lua/asked.lua")
    );
    script(&[AskedCalls::NAMES], body, false)
});

arguments! {
    /// The arguments of [`LIST_ASKED`].
    ListAsked<'a> {
        /// The member of the call.
        member: &'a str,
        /// The milliseconds for which the call waits.
        lifetime: u64,
    }
}

/// Lists a call that is about to wait for approval.
pub(crate) static LIST_ASKED: LazyLock<LuaScript> = LazyLock::new(|| {
    script(
        &[ListAsked::NAMES],
        include_str!("lua/list_asked.lua"),
        false,
    )
});

arguments! {
    /// The arguments of [`CHARGE_PRINCIPAL`].
    ChargePrincipal {
        cost: u64,
        time: u64,
        /// The milliseconds after which the amounts of the principal count from zero.
        window: u64,
    }
}

/// Charges a principal. The key of the amounts comes first, and then the mark of the amount, if it
/// has an id.
pub(crate) static CHARGE_PRINCIPAL: LazyLock<LuaScript> = LazyLock::new(|| {
    let body = concat!(
        include_str!("lua/amounts.lua"),
        "\n",
        include_str!("lua/charge_principal.lua")
    );
    script(&[ChargePrincipal::NAMES], body, true)
});

arguments! {
    /// The arguments of [`ACQUIRE_PERMIT`].
    AcquirePermit {
        /// Distinguishes the call from all others.
        holder: String,
        /// The milliseconds after which its places are free, if it does not keep them for longer.
        lease: u64,
        /// False if the call is checked only.
        counts: bool,
    }
}

/// Checks a call against limits that all sessions share, and counts it.
pub(crate) static ACQUIRE_PERMIT: LazyLock<LuaScript> = LazyLock::new(|| {
    script(
        &[AcquirePermit::NAMES],
        include_str!("lua/acquire.lua"),
        false,
    )
});

arguments! {
    /// The arguments of [`RETURN_PERMIT`].
    ReturnPermit {
        holder: String,
        /// The microseconds in which one call of the rate becomes possible.
        interval: OrEmpty<u64>,
        /// True if the place is the call's since it was counted.
        has_place: bool,
    }
}

/// Undoes [`ACQUIRE_PERMIT`] for one limit.
pub(crate) static RETURN_PERMIT: LazyLock<LuaScript> = LazyLock::new(|| {
    script(
        &[ReturnPermit::NAMES],
        include_str!("lua/return_permit.lua"),
        false,
    )
});

arguments! {
    /// The arguments of [`EXTEND_PERMIT`].
    ExtendPermit {
        holder: String,
        lease: u64,
    }
}

/// Keeps the places of a call for longer.
pub(crate) static EXTEND_PERMIT: LazyLock<LuaScript> = LazyLock::new(|| {
    script(
        &[ExtendPermit::NAMES],
        include_str!("lua/extend.lua"),
        false,
    )
});

arguments! {
    /// The arguments of [`TAKE_SLOT`].
    TakeSlot<'a> {
        /// The member of the session.
        member: &'a str,
        /// The milliseconds for which the place is taken, before someone looks at the session.
        reserved: u64,
        /// The milliseconds after which an unused session expires.
        idle: u64,
        max_sessions: u64,
    }
}

/// Takes a place among the open sessions.
pub(crate) static TAKE_SLOT: LazyLock<LuaScript> =
    LazyLock::new(|| script(&[TakeSlot::NAMES], include_str!("lua/take_slot.lua"), false));

arguments! {
    /// The arguments of [`STALE_SLOTS`].
    StaleSlots {
        /// The maximum number of slots.
        limit: usize,
    }
}

/// Returns the slots whose sessions may have expired.
pub(crate) static STALE_SLOTS: LazyLock<LuaScript> =
    LazyLock::new(|| script(&[StaleSlots::NAMES], include_str!("lua/stale.lua"), false));

/// Frees slots, or keeps them for longer. Its arguments are pairs of a member and the milliseconds
/// until its session expires.
pub(crate) static REVISE_SLOTS: LazyLock<LuaScript> =
    LazyLock::new(|| script(&[], include_str!("lua/revise.lua"), false));

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
pub(crate) static JOURNAL_START: LazyLock<LuaScript> = LazyLock::new(|| {
    journal_script(
        StartJournalCall::NAMES,
        include_str!("lua/journal_start.lua"),
        true,
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
pub(crate) static JOURNAL_FIND: LazyLock<LuaScript> = LazyLock::new(|| {
    journal_script(
        FindJournalCall::NAMES,
        include_str!("lua/journal_find.lua"),
        false,
    )
});

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
pub(crate) static JOURNAL_FINISH: LazyLock<LuaScript> = LazyLock::new(|| {
    journal_script(
        FinishJournalCall::NAMES,
        include_str!("lua/journal_finish.lua"),
        true,
    )
});

arguments! {
    /// The arguments of [`JOURNAL_READ`].
    ReadJournal<'a> {
        process: &'a str,
    }
}

/// Reads the calls of other processes.
pub(crate) static JOURNAL_READ: LazyLock<LuaScript> = LazyLock::new(|| {
    journal_script(
        ReadJournal::NAMES,
        include_str!("lua/journal_read.lua"),
        false,
    )
});

/// Makes a script of the journal.
fn journal_script(arguments: &[&str], body: &str, is_copied: bool) -> LuaScript {
    let beginning = include_str!("lua/journal.lua");
    script(&[arguments], &format!("{beginning}\n{body}"), is_copied)
}

fn script(arguments: &[&[&str]], body: &str, is_copied: bool) -> LuaScript {
    LuaScript::new(&(names(arguments) + body), is_copied)
}

/// Makes a script of a session.
fn session_script(arguments: &[&str], body: &str, is_copied: bool) -> LuaScript {
    let keys = SESSION_KEYS.map(str::to_uppercase).join(", ");
    let charged = CHARGED_KEY.to_uppercase();
    let code = format!(
        "local {keys}, {charged} = unpack(KEYS)\nlocal SESSION_KEYS = {{ {keys} }}\n{}{}\n{}\n{body}",
        names(&[Caller::NAMES, arguments]),
        include_str!("lua/amounts.lua"),
        include_str!("lua/session.lua"),
    );
    LuaScript::new(&code, is_copied)
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

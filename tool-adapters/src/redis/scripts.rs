//! The scripts, each loaded into a server when it first says that it does not know it.

use redis::Script;
use std::sync::LazyLock;

macro_rules! scripts {
    ($($name:ident = $($file:literal)+;)*) => {
        $(pub(super) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!(concat!("lua/", $file, ".lua")), "\n"),+)));)*
    };
}

scripts! {
    OPEN = "session" "open";
    ADMIT = "session" "admit";
    SETTLE = "session" "settle";
    NEXT_TURN = "session" "next_turn";
    MINT = "session" "mint";
    PENDING = "session" "pending";
    CHANGE = "session" "change";
    END = "session" "end";
    REFRESH = "session" "refresh";
    RESERVE = "reserve";
    STALE = "stale";
    REVISE = "revise";
}

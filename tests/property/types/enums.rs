//! Enums: plain ones, and with data in each representation of serde.

use super::echoes;
use super::structs::{Closed, Newtype, Point};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Level {
    Low,
    Middle,
    High,
}

/// Every variant has a description.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Documented {
    /// The first.
    One,
    /// The second.
    Two,
    Three,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cased {
    NotYet,
    AlreadyDone,
    #[serde(rename = "n/a")]
    NotApplicable,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub(crate) enum AliasedVariants {
    #[serde(alias = "lo", alias = "small")]
    Low,
    High,
}

/// Takes any text.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum Open {
    Known,
    #[serde(other)]
    Other,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum External {
    Nothing,
    Number(u8),
    Text(String),
    Pair(u8, bool),
    Record { width: u16, height: Option<u16> },
    Deep(Point),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Internal {
    Nothing,
    Circle { radius: f64 },
    At(Point),
    Shut(Closed),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "data")]
pub(crate) enum Adjacent {
    Nothing,
    Number(i32),
    Pair(u8, String),
    Record { ok: bool },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Number(i64),
    Flag(bool),
    Text(String),
    List(Vec<u8>),
    Record { id: u8, name: Option<String> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Narrow {
    Small(u8),
    Wrapped(Newtype),
    Level(Level),
    Shut(Closed),
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Holder {
    level: Level,
    cased: Option<Cased>,
    external: External,
    internal: Option<Internal>,
    untagged: Vec<Narrow>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) enum Recursive {
    Leaf(u8),
    Not(Box<Recursive>),
    All(Vec<Recursive>),
}

fn variants_renamed_back(value: &mut serde_json::Value) {
    super::scalars(value, &|value| {
        if matches!(value.as_str(), Some("lo" | "small")) {
            *value = "Low".into();
        }
    });
}

echoes! {
    level: Level;
    option_level: Option<Level>;
    levels: Vec<Level>;
    documented: Documented;
    option_documented: Option<Documented>;
    cased: Cased;
    aliased_variants: AliasedVariants, variants_renamed_back;
    opens: Vec<Open>;
    map_by_aliased: std::collections::BTreeMap<AliasedVariants, u8>;
    external: External;
    externals: Vec<External>;
    internal: Internal;
    adjacent: Adjacent;
    untagged: Untagged;
    narrow: Narrow;
    option_narrow: Option<Narrow>;
    holder: Holder;
    recursive: Recursive;
}

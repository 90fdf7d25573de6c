//! From checked JSON to the types of settings and secrets. Their own rules may refuse what the schema accepts.

use super::scrub::Hidden;
use crate::arguments::Problem;
use crate::pointer::child;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Error, Path, Segment};

/// The problem names the place, and says what the type says, without the texts that stand there.
pub(super) fn settings<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Problem>> {
    read(value).map_err(|error| {
        let why = Hidden::of_settings(value).removed_from(&error.inner().to_string());
        vec![Problem::refused(pointer(error.path()), &why)]
    })
}

/// The problem names the place alone: whatever the type says may be made of the secret.
pub(super) fn secrets<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Problem>> {
    let why = "it is not what the toolset takes";
    read(value).map_err(|error| vec![Problem::refused(pointer(error.path()), why)])
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Error<serde_json::Error>> {
    serde_path_to_error::deserialize(value)
}

fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => child(&pointer, &index.to_string()),
        Segment::Map { key } => child(&pointer, key),
        // They stand for no place of their own, or for one that is not known.
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}

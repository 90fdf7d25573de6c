//! What can be wrong with keys, and with what was sealed.

use std::fmt;

/// What is wrong with a key, or with what was sealed. No text of it shows a key or a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The environment variable is not set.
    Unset(String),
    /// The file of keys cannot be read.
    File {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// The text is not one of keys: all that is wrong with it.
    Malformed(Vec<String>),
    /// There is no key at all.
    Missing,
    /// The secrets were sealed under a key that is not there.
    Unknown {
        /// Its id.
        key: String,
    },
    /// The key of that id is another one than the secrets were sealed under.
    Wrong {
        /// Its id.
        key: String,
    },
    /// The sealed bytes were changed, or belong to another agent or toolset.
    Tampered,
    /// The secrets are longer than a record may hold.
    TooLong {
        /// Their bytes.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
    /// The system gave no random bytes.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(variable) => write!(
                f,
                "the environment variable `{}` is not set; it holds the keys that seal secrets, `id:64 hex digits`",
                variable.escape_debug()
            ),
            Self::File { path, why } => {
                write!(f, "the file of keys `{}` cannot be read: {why}", path.escape_debug())
            }
            Self::Malformed(problems) => {
                f.write_str("these are no keys:")?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
            Self::Missing => f.write_str("there is no key to seal or open secrets with; give one to `Agents::builder`"),
            Self::Unknown { key } => {
                write!(f, "the secrets are sealed under key `{}`, which is not among the keys", key.escape_debug())
            }
            Self::Wrong { key } => write!(
                f,
                "key `{}` is another one than the secrets were sealed under; put the old one back, or set the secrets anew",
                key.escape_debug()
            ),
            Self::Tampered => f.write_str(
                "the sealed secrets were changed, or moved here from another agent or toolset; set the secrets anew",
            ),
            Self::TooLong { bytes, most } => {
                write!(f, "the secrets have {bytes} bytes as JSON; a record holds at most {most}")
            }
            Self::Random => f.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for KeyError {}

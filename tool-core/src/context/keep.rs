//! What has to live for as long as a context is used.

use std::any::Any;
use std::sync::{Arc, Weak};

/// Something that does its work when nobody holds it any more: an agent's toolsets are closed then.
pub(crate) type Kept = Arc<dyn Any + Send + Sync>;

/// What a context keeps.
#[derive(Clone, Default)]
pub(super) enum Keep {
    #[default]
    Nothing,
    Held(Kept),
    /// A session holds it, until it ends.
    Lent(Weak<dyn Any + Send + Sync>),
}

impl Keep {
    /// The thing itself, where it is still there.
    pub(super) fn kept(&self) -> Option<Kept> {
        match self {
            Self::Nothing => None,
            Self::Held(kept) => Some(Arc::clone(kept)),
            Self::Lent(kept) => kept.upgrade(),
        }
    }

    /// The same for a context that is made of this one.
    pub(super) fn derived(&self) -> Self {
        self.kept().map_or(Self::Nothing, Self::Held)
    }

    /// The same for a context whose holder keeps it by other means.
    pub(super) fn lent(&self) -> Self {
        self.kept().map_or(Self::Nothing, |kept| Self::Lent(Arc::downgrade(&kept)))
    }
}

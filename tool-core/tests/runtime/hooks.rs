//! What a hook sees and may change.

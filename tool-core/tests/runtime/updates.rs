//! What a tool says before it is done.

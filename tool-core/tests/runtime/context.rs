//! What a tool can ask of the session it runs in.

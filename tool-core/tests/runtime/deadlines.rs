//! How long a tool may take.

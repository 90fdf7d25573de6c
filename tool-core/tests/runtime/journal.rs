//! What is written down around a call.

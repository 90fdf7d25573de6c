//! What a response may ask of its session.

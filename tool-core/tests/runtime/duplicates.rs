//! What happens to a call while one like it runs.

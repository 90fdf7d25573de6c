//! The system instruction and the guides.

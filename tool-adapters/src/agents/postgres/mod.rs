//! The records of agents on a server.

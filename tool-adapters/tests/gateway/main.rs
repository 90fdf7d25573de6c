//! The gateway before real servers, which are processes of this program.
#![cfg(unix)]

mod audit;
mod child;
mod files;
mod health;
mod policies;
mod program;
mod reload;
mod servers;
mod stores;
mod support;
mod updates;

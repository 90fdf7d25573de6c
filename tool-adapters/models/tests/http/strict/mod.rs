//! Servers that refuse what the real ones refuse.
//!
//! - `rules`: what each provider refuses, as data with the source of each rule
//! - `forms`: the steps and the errors of each protocol
//! - `loops`: conversations with each server. A row of its table is a server
//! - `histories`: random histories, whose requests are held to the rules
//! - `files`: messages of the user with images and files, to each server
//! - `parts`: the forms of images, sounds, videos and documents, as rules

mod files;
mod forms;
mod histories;
mod loops;
mod parts;
mod rules;

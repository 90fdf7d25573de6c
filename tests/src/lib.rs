//! Tests of the workspace. The library contains only the README and the book, so that their examples are doc tests.
#![allow(clippy::doc_markdown, reason = "the pages name products, such as LangChain")]
#![doc = include_str!("../../README.md")]

#[doc = include_str!("../../docs/book/from_rmcp.md")]
pub mod from_rmcp {}

#[doc = include_str!("../../docs/book/from_rig.md")]
pub mod from_rig {}

#[doc = include_str!("../../docs/book/from_langchain.md")]
pub mod from_langchain {}

#[doc = include_str!("../../docs/book/from_livekit.md")]
pub mod from_livekit {}

#[doc = include_str!("../../docs/book/from_pydantic_ai.md")]
pub mod from_pydantic_ai {}

#[doc = include_str!("../../docs/book/faq.md")]
pub mod faq {}

#[doc = include_str!("../../docs/book/glossary.md")]
pub mod glossary {}

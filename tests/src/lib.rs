//! Tests of the workspace. The library contains only the README and the book, so that their examples are doc tests.
#![allow(
    clippy::doc_markdown,
    reason = "the pages name products, such as LangChain"
)]
#![doc = include_str!("../../README.md")]

macro_rules! chapters {
    ($($name:ident)*) => {
        $(
            #[cfg(feature = "book")]
            #[doc = include_str!(concat!("../../docs/book/", stringify!($name), ".md"))]
            pub mod $name {}
        )*
    };
}

chapters! {
    agents approvals audit chat_service cli conversations debugging deployment durable dynamic egress errors failing_services faq files first_tool foreign_types from_langchain from_livekit
    from_pydantic_ai from_rig from_rmcp gateway glossary inspector introduction live mcp models openapi options parameters providers result_cache results
    security sessions state stores sub_agents ten_machines testing tracing
}

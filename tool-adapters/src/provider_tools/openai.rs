//! OpenAI's own tools, for Responses; [`RemoteMcp`] for Realtime too. Chat Completions has none.
//!
//! ```
//! use serde_json::json;
//! use tool_adapters::Provider;
//! use tool_adapters::provider_tools::openai::{FileSearch, WebSearch};
//! use tool_core::ProviderTool;
//!
//! let files = FileSearch { max_num_results: Some(5), ..FileSearch::new(["vs_1"]) };
//! let expected = json!({"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 5});
//! assert_eq!(files.config(&Provider::OpenAiResponses.id()), Some(expected));
//! assert_eq!(WebSearch::default().config(&Provider::OpenAiChat.id()), None);
//! ```
//!
//! [`Computer`] is answered by the host and not by a function tool: its calls are items of the type `computer_call`.

mod computer;
mod files;
mod image;
mod interpreter;
mod remote;
mod web;

pub use computer::{Computer, ComputerUsePreview, Environment};
pub use files::{Combination, Comparison, FileSearch, Filter, HybridSearch, Ranking};
pub use image::{Background, ImageAction, ImageFormat, ImageGeneration, ImageQuality, InputFidelity, Mask, Moderation};
pub use interpreter::{AutoContainer, CodeInterpreter, Container, MemoryLimit, NetworkPolicy};
pub use remote::{Approval, RemoteMcp, ToolNames};
pub use web::{ContextSize, WebSearch};

super::provider_tools! {
    WebSearch: "web_search" for OpenAiResponses;
    FileSearch: "file_search" for OpenAiResponses;
    CodeInterpreter: "code_interpreter" for OpenAiResponses;
    Computer: "computer" for OpenAiResponses;
    ComputerUsePreview: "computer_use_preview" for OpenAiResponses;
    ImageGeneration: "image_generation" for OpenAiResponses;
    RemoteMcp: "mcp" for OpenAiResponses | OpenAiRealtime;
}

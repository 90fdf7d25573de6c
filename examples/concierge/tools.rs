//! The three toolsets in one context.

use crate::articles;
use crate::conversation::Conversation;
use crate::front_desk::FrontDesk;
use crate::knowledge_base::KnowledgeBase;
use std::error::Error;
use std::path::Path;
use tool_core::ToolContext;

/// Builds the tools of the concierge over the articles of the example.
pub(crate) fn tools() -> Result<ToolContext, Box<dyn Error>> {
    let knowledge = KnowledgeBase::new(&articles::read(Path::new(articles::FOLDER))?)?;
    Ok(ToolContext::builder()
        .with(knowledge)
        .with(Conversation)
        .with(FrontDesk::default())
        .build()?)
}

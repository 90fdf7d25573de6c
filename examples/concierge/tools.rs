//! The three toolsets, put together.

use crate::articles;
use crate::conversation::Conversation;
use crate::front_desk::FrontDesk;
use crate::knowledge_base::KnowledgeBase;
use std::error::Error;
use std::path::Path;
use tool_core::ToolContext;

/// The tools of the concierge, over the example's own articles.
pub(crate) fn tools() -> Result<ToolContext, Box<dyn Error>> {
    let knowledge = KnowledgeBase::new(&articles::read(Path::new(articles::FOLDER))?)?;
    Ok(ToolContext::builder().with(knowledge).with(Conversation).with(FrontDesk::default()).build()?)
}

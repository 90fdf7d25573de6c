//! The concierge example: its search, its tools, and the limits of a session.

#[path = "../concierge/articles.rs"]
mod articles;
#[path = "../concierge/conversation.rs"]
mod conversation;
#[path = "../concierge/front_desk.rs"]
mod front_desk;
#[path = "../concierge/index.rs"]
mod index;
#[path = "../concierge/knowledge_base.rs"]
mod knowledge_base;
#[path = "../concierge/play.rs"]
mod play;
#[path = "../concierge/report.rs"]
mod report;
#[path = "../concierge/script.rs"]
mod script;
#[path = "../concierge/tools.rs"]
mod tools;

mod shared;

#[path = "concierge/definitions.rs"]
mod definitions;
#[path = "concierge/printed.rs"]
mod printed;
#[path = "concierge/scripts.rs"]
mod scripts;
#[path = "concierge/search.rs"]
mod search;
#[path = "concierge/support.rs"]
mod support;
#[path = "concierge/text.rs"]
mod text;
#[path = "concierge/voice.rs"]
mod voice;

//! The concierge example: what it finds, what it tells the model, and what the runtime makes of a conversation.

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

#[path = "concierge/printed.rs"]
mod printed;
#[path = "concierge/scripts.rs"]
mod scripts;
#[path = "concierge/search.rs"]
mod search;
#[path = "concierge/spoken.rs"]
mod spoken;
#[path = "concierge/support.rs"]
mod support;
#[path = "concierge/told.rs"]
mod told;
#[path = "concierge/written.rs"]
mod written;

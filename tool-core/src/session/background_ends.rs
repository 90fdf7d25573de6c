//! The ends of calls that went on in the background of another process.

use crate::session::inner::SessionInner;
use crate::session::message::Message;
use crate::session::notes::open_background_calls;
use crate::session::pipeline::journal::{EarlierEnd, earlier_end};
use crate::session::pipeline::without_tool;
use crate::session::unmade_calls::lost_background_call;
use crate::session::updates::{BackgroundAnswer, with_suffix};
use std::sync::Arc;

/// Returns the ends of the calls that went on in the background, and that neither this process nor
/// another one is running. The conversation does not have them, for example because the process of
/// the calls was killed.
///
/// The journal may know the result. Otherwise it is lost, and that of a call which may have taken
/// effect is `UNKNOWN`.
pub(crate) async fn earlier_background_ends(
    session: &Arc<SessionInner>,
    messages: &[Message],
) -> Vec<BackgroundAnswer> {
    let mut ends = Vec::new();
    for call in open_background_calls(messages) {
        let is_own = |id| {
            session
                .background()
                .is_some_and(|answers| answers.has_open(id))
        };
        if is_own(call.id()) {
            continue;
        }
        let response = match earlier_end(session, &call).await {
            EarlierEnd::Open | EarlierEnd::Unreadable => continue,
            EarlierEnd::Response(response) => *response,
            EarlierEnd::Lost => {
                let lost = lost_background_call(session, &call);
                without_tool::record_begun(session, &call, &lost, None);
                lost
            }
        };
        ends.push(BackgroundAnswer {
            call_id: call.id().to_owned(),
            is_end: true,
            response: with_suffix(response, &call, "final"),
        });
    }
    ends
}

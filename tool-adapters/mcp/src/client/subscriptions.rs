//! Subscriptions: to resources, and from revision 2026-07-28 on to changes of the lists, for which
//! a client listens.

use crate::client::changes::{ChangeSender, ChangedLists, ServerChange};
use crate::client::error::describe;
use crate::client::notices::MAX_URI;
use crate::client::options::is_stateless;
use crate::client::pins::Declaration;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, Request, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, ServiceError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// The resources to which the host has subscribed.
#[derive(Default)]
pub(crate) struct SubscribedResources {
    uris: Mutex<BTreeSet<String>>,
    /// Those to which the server has not subscribed again over the current connection.
    not_renewed: Mutex<BTreeSet<String>>,
    changed: Notify,
}

/// Maximum number of resources.
const MAX_URIS: usize = 1_000;

/// The subscriptions that are renewed at once.
const RENEWED_AT_ONCE: usize = 8;

/// The pause before a stream of changes that has ended is requested again.
const PAUSE: Duration = Duration::from_secs(5);

/// Returns true if changes come in a stream that the client requests.
fn listens(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info()
        .is_some_and(|info| is_stateless(&info.protocol_version))
}

/// Subscribes up to revision 2025-11-25.
async fn subscribe(peer: &Peer<RoleClient>, uri: &str) -> Result<(), ServiceError> {
    let request = Request::new(SubscribeRequestParams::new(uri));
    peer.send_request(ClientRequest::SubscribeRequest(request))
        .await
        .map(drop)
}

impl SubscribedResources {
    fn edit<T>(&self, edit: impl FnOnce(&mut BTreeSet<String>) -> T) -> T {
        edit(&mut self.uris.lock())
    }

    /// Adds a resource. The error is a text of the server.
    pub(crate) async fn add(&self, peer: &Peer<RoleClient>, uri: &str) -> Result<(), String> {
        if uri.len() > MAX_URI {
            return Err(format!(
                "expected a URI of at most {MAX_URI} bytes, got {}",
                uri.len()
            ));
        }
        if self.edit(|uris| uris.len() >= MAX_URIS && !uris.contains(uri)) {
            return Err(format!(
                "expected at most {MAX_URIS} subscriptions, got another one; end one first"
            ));
        }
        if !listens(peer) {
            subscribe(peer, uri)
                .await
                .map_err(|error| describe(&error))?;
        }
        self.edit(|uris| uris.insert(uri.to_owned()));
        self.not_renewed.lock().remove(uri);
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) async fn remove(&self, peer: &Peer<RoleClient>, uri: &str) -> Result<(), String> {
        if !self.edit(|uris| uris.remove(uri)) {
            return Ok(());
        }
        self.changed.notify_one();
        if listens(peer) {
            return Ok(());
        }
        let request = Request::new(UnsubscribeRequestParams::new(uri));
        let ended = peer
            .send_request(ClientRequest::UnsubscribeRequest(request))
            .await;
        ended.map(drop).map_err(|error| describe(&error))
    }

    /// Takes out the resources to which the server has not subscribed again after the connection
    /// was lost.
    pub(crate) fn take_not_renewed(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.not_renewed.lock())
    }

    /// Subscribes again over a new connection, in a task, and reports a change of each resource, as
    /// updates may have been missed. A server that refuses one, or takes longer than `limit` for
    /// it, costs only the updates of that one.
    pub(crate) fn renew(
        self: &Arc<Self>,
        peer: &Peer<RoleClient>,
        changes: &ChangeSender,
        limit: Duration,
    ) {
        let subscriptions = Arc::clone(self);
        let peer = peer.clone();
        let changes = changes.clone();
        // Those of the earlier connection are renewed too.
        _ = subscriptions.take_not_renewed();
        tokio::spawn(async move {
            let uris = subscriptions.edit(|uris| uris.clone());
            let renewed = stream::iter(uris).for_each_concurrent(RENEWED_AT_ONCE, async |uri| {
                subscriptions.renew_one(&peer, &uri, limit).await;
                changes.send(ServerChange::Resource(uri));
            });
            renewed.await;
        });
    }

    async fn renew_one(&self, peer: &Peer<RoleClient>, uri: &str, limit: Duration) {
        // It may have been removed meanwhile.
        if listens(peer) || self.edit(|uris| !uris.contains(uri)) {
            return;
        }
        let error = match timeout(limit, subscribe(peer, uri)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => describe(&error),
            Err(_) => "the server did not answer in time".to_owned(),
        };
        // The next connection renews all.
        if peer.is_transport_closed() {
            return;
        }
        tracing::warn!(
            error = error.escape_debug().to_string(),
            "failed to subscribe again to a resource"
        );
        self.not_renewed.lock().insert(uri.to_owned());
    }

    /// Listens for the changes over a connection, until it ends.
    pub(crate) fn follow(
        self: &Arc<Self>,
        peer: &Peer<RoleClient>,
        lists: &Arc<ChangedLists>,
        changes: &ChangeSender,
    ) {
        if listens(peer) {
            let own = Arc::downgrade(self);
            let peer = peer.clone();
            let lists = Arc::clone(lists);
            let changes = changes.clone();
            tokio::spawn(async move {
                let mut has_ended = false;
                while let Some(subscriptions) =
                    own.upgrade().filter(|_| !peer.is_transport_closed())
                {
                    match subscriptions
                        .listen(&peer, &lists, &changes, has_ended)
                        .await
                    {
                        Some(ended) => has_ended = ended,
                        None => return,
                    }
                }
            });
        }
    }

    /// Listens until the resources change, or the stream has ended and a pause is over, of which it
    /// returns true. What changed since an earlier stream has ended is not known. Returns `None` if
    /// the server has no changes to tell.
    async fn listen(
        &self,
        peer: &Peer<RoleClient>,
        lists: &ChangedLists,
        changes: &ChangeSender,
        has_ended: bool,
    ) -> Option<bool> {
        let mut filter = SubscriptionFilter::builder()
            .tools_list_changed()
            .prompts_list_changed();
        filter = filter.resources_list_changed();
        let uris = self.edit(|uris| uris.clone());
        if !uris.is_empty() {
            filter = filter.resource_subscriptions(uris);
        }
        let mut stream = match peer.listen(filter.build()).await {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(
                    error = describe(&error).escape_debug().to_string(),
                    "failed to listen for changes of a server"
                );
                if matches!(error, ServiceError::McpError(_)) {
                    return None;
                }
                // The stream has ended before it began, as it does when very much changes.
                sleep(PAUSE).await;
                return Some(true);
            }
        };
        if has_ended {
            for kind in Declaration::ALL {
                lists.note(kind);
            }
            changes.send(ServerChange::Missed);
        }
        loop {
            tokio::select! {
                () = self.changed.notified() => {
                    _ = stream.cancel().await;
                    return Some(false);
                }
                change = stream.next() => match change {
                    Ok(Some(ServerNotification::ToolListChangedNotification(_))) => lists.note(Declaration::Tool),
                    Ok(Some(ServerNotification::PromptListChangedNotification(_))) => lists.note(Declaration::Prompt),
                    Ok(Some(ServerNotification::ResourceListChangedNotification(_))) => lists.note(Declaration::Resource),
                    Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => {
                        changes.send(ServerChange::Resource(updated.params.uri));
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                },
            }
        }
        sleep(PAUSE).await;
        Some(true)
    }
}

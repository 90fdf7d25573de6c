//! Changes of tools, prompts and resources, and their notifications to clients.

use crate::server::client::{Client, Identity};
use crate::server::session_streams::SessionStreams;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::model::{
    GetMeta, NotificationNoParam, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification, SubscriptionFilter,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tool_adapters_http::quota::{Quota, QuotaExceeded, QuotaLimits, Share};
use tool_core::CancellationToken;

/// The maximum number of resources to which one session subscribes, and of the URIs on one stream.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// The maximum number of streams of changes that one session has open.
const MAX_STREAMS: usize = 8;

/// The changes that wait for a slow client. A client that misses some gets a notification that
/// everything has changed.
const WAITING: usize = 64;

/// The time in which a client takes a notification. A slower one gets another afterwards: everything
/// has changed.
const SENDING: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of resources, in one change, so that many updates at once are not too many.
    Contents(Arc<[ResourceUpdate]>),
}

/// An update of a resource, or of a part of it.
#[derive(Clone, Debug)]
pub struct ResourceUpdate {
    /// The resource to which clients have subscribed.
    resource: Arc<str>,
    /// The resource or the part that has changed.
    uri: Arc<str>,
}

impl ResourceUpdate {
    /// Creates the update of a resource.
    pub fn of(resource: impl Into<Arc<str>>) -> Self {
        let resource = resource.into();
        let uri = Arc::clone(&resource);
        Self { resource, uri }
    }

    /// Creates the update of a part of a resource.
    pub fn of_part(resource: impl Into<Arc<str>>, uri: impl Into<Arc<str>>) -> Self {
        Self {
            resource: resource.into(),
            uri: uri.into(),
        }
    }
}

/// Reports changes of a server's prompts and resources to its clients. Cheap to clone.
///
/// [`Server::changes`](crate::Server::changes) returns it. Reporting never waits: a slow client loses notifications, and is then
/// told that everything has changed.
///
/// ```
/// use tool_adapters::mcp::Server;
/// # use tool_core::ToolContext;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let tools = ToolContext::builder().build()?;
/// let server = Server::from_tools(tools)?;
/// let changes = server.changes();
/// // In the part of the program that writes notes:
/// changes.resource_updated("notes://7");
/// changes.resources_changed();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ChangeNotifier(Sender<Change>, Arc<WatchedResources>);

impl Default for ChangeNotifier {
    fn default() -> Self {
        Self(Sender::new(WAITING), Arc::default())
    }
}

impl ChangeNotifier {
    /// Returns the changes from now on.
    pub(crate) fn received(&self) -> Receiver<Change> {
        self.0.subscribe()
    }

    /// Reports that the contents of a resource have changed. Clients that have subscribed to
    /// exactly this URI get `notifications/resources/updated`.
    pub fn resource_updated(&self, uri: impl Into<Arc<str>>) {
        self.updated([ResourceUpdate::of(uri)]);
    }

    /// Reports that the list of resources has changed, such as when a `dynamic` toolset shows
    /// others.
    pub fn resources_changed(&self) {
        let _ = self.0.send(Change::Resources);
    }

    /// Reports that the list of tools has changed, as [`Server::refresh`](crate::Server::refresh)
    /// does.
    pub(crate) fn tools_changed(&self) {
        let _ = self.0.send(Change::Tools);
    }

    /// Reports that the list of prompts has changed, such as when a `dynamic` toolset shows others.
    pub fn prompts_changed(&self) {
        let _ = self.0.send(Change::Prompts);
    }
}

/// Items for the gateway, beside the public interface. They may change in a patch version.
#[doc(hidden)]
impl ChangeNotifier {
    /// Reports updates together. Clients get those of the resources to which they have subscribed.
    pub fn updated(&self, updates: impl Into<Arc<[ResourceUpdate]>>) {
        let updates = updates.into();
        if !updates.is_empty() {
            // It fails if there is no client.
            let _ = self.0.send(Change::Contents(updates));
        }
    }

    /// Returns the resources to which clients have subscribed.
    pub fn watched(&self) -> &WatchedResources {
        &self.1
    }
}

/// The subscriptions of all clients, counted by URI, for a host that subscribes elsewhere itself.
#[derive(Debug, Default)]
pub struct WatchedResources {
    counts: Mutex<HashMap<String, usize>>,
    /// Gets each URI that is watched now, with true, or no longer. Without it nothing is counted.
    host: OnceLock<UnboundedSender<(String, bool)>>,
    /// The subscriptions of each client in all its sessions, as the host has a number of them for
    /// all.
    taken: Arc<Quota<Identity>>,
}

impl WatchedResources {
    fn add(&self, uri: &str) {
        let Some(host) = self.host.get() else { return };
        let mut counts = self.counts.lock();
        let count = counts.entry(uri.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            // It fails if the host has gone. Sent with the lock, so that the order is kept.
            _ = host.send((uri.to_owned(), true));
        }
    }

    fn remove(&self, uri: &str) {
        let Some(host) = self.host.get() else { return };
        let mut counts = self.counts.lock();
        let Some(count) = counts.get_mut(uri) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            counts.remove(uri);
            _ = host.send((uri.to_owned(), false));
        }
    }

    /// Starts to count. Returns the URIs as they become watched, with true, and as they no longer
    /// are.
    pub fn start(&self) -> UnboundedReceiver<(String, bool)> {
        let (host, watched) = unbounded_channel();
        _ = self.host.set(host);
        watched
    }

    /// Returns the URIs that are watched.
    pub fn uris(&self) -> Vec<String> {
        self.counts.lock().keys().cloned().collect()
    }
}

/// The resources to which the client of a session with `initialize` has subscribed, or a stream of
/// changes.
pub(crate) struct Subscriptions {
    uris: Mutex<BTreeSet<String>>,
    taken: Mutex<Share<Identity>>,
    watched: Arc<WatchedResources>,
    /// Returns true if the client sees a resource now.
    sees: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Subscriptions {
    /// `sees` returns true if the client sees a resource. It may be hidden after the client has
    /// subscribed to it.
    pub(crate) fn new(
        changes: &ChangeNotifier,
        client: &Client,
        sees: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let watched = Arc::clone(&changes.1);
        let each = MAX_SUBSCRIPTIONS;
        let each = if watched.host.get().is_some() {
            each
        } else {
            usize::MAX
        };
        let taken = Share::new(
            &watched.taken,
            client.counted_as(),
            QuotaLimits {
                all: usize::MAX,
                each,
            },
        );
        Self {
            uris: Mutex::default(),
            taken: Mutex::new(taken),
            watched,
            sees: Box::new(sees),
        }
    }

    pub(crate) fn add(&self, uri: String) -> Result<(), ErrorData> {
        let mut uris = self.uris.lock();
        if uris.len() >= MAX_SUBSCRIPTIONS && !uris.contains(&uri) {
            let message =
                format!("this session has {MAX_SUBSCRIPTIONS} subscriptions; end one of them");
            return Err(ErrorData::invalid_request(message, None));
        }
        if !uris.contains(&uri) {
            self.take(uris.len() + 1).map_err(|_| {
                let message =
                    format!("this client has {MAX_SUBSCRIPTIONS} subscriptions in all its sessions; end one of them");
                ErrorData::invalid_request(message, None)
            })?;
            self.watched.add(&uri);
            uris.insert(uri);
        }
        Ok(())
    }

    fn take(&self, subscriptions: usize) -> Result<(), QuotaExceeded> {
        self.taken.lock().resize(subscriptions)
    }

    pub(crate) fn remove(&self, uri: &str) {
        let mut uris = self.uris.lock();
        if uris.remove(uri) {
            self.watched.remove(uri);
            // Less is never refused.
            _ = self.take(uris.len());
        }
    }

    fn has(&self, uri: &str) -> bool {
        self.uris.lock().contains(uri) && (self.sees)(uri)
    }

    /// Returns all changes that a client may have missed.
    fn all(&self) -> Vec<Change> {
        let uris = self.uris.lock();
        let contents = uris.iter().map(|uri| ResourceUpdate::of(uri.as_str()));
        let contents = Change::Contents(contents.collect());
        vec![contents, Change::Tools, Change::Prompts, Change::Resources]
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.uris
            .lock()
            .iter()
            .for_each(|uri| self.watched.remove(uri));
    }
}

/// The way of the notifications of a session.
pub(crate) enum Recipient {
    Peer(Peer<RoleServer>),
    /// Over HTTP, where the handler of a session does not run all the time.
    Streams(SessionStreams),
}

impl Recipient {
    /// Returns the way to the client that initializes a session.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        match context.extensions.get::<SessionStreams>() {
            Some(streams) => Self::Streams(streams.clone()),
            None => Self::Peer(context.peer.clone()),
        }
    }

    /// Sends a notification. Returns false if the client is gone.
    async fn send(&self, notification: ServerNotification) -> bool {
        match self {
            Self::Peer(peer) => peer.send_notification(notification).await.is_ok(),
            Self::Streams(streams) => streams.notify(notification).map(|()| true).await,
        }
    }
}

/// Forwards the changes that are wanted to the client of a session, until the connection ends.
pub(crate) fn forward(
    changes: &ChangeNotifier,
    (wanted, to): (SubscriptionFilter, Recipient),
    subscriptions: Arc<Subscriptions>,
    ended: CancellationToken,
) {
    let changes = changes.received();
    tokio::spawn(ended.run_until_cancelled_owned(async move {
        follow(changes, &wanted, &subscriptions, |notification| {
            to.send(notification).boxed()
        })
        .await;
    }));
}

/// Sends the changes that are wanted, until the client is gone.
async fn follow<'a>(
    mut changes: Receiver<Change>,
    wanted: &SubscriptionFilter,
    subscriptions: &Subscriptions,
    send: impl Fn(ServerNotification) -> BoxFuture<'a, bool>,
) {
    let mut is_behind = false;
    loop {
        let missed = if is_behind {
            subscriptions.all()
        } else {
            match changes.recv().await {
                Ok(change) => vec![change],
                Err(RecvError::Lagged(_)) => subscriptions.all(),
                Err(RecvError::Closed) => return,
            }
        };
        // Boxed, as most sessions wait for changes all the time.
        let sending = Box::pin(async {
            let notifications = missed
                .iter()
                .flat_map(|change| change.notifications(wanted, subscriptions));
            for notification in notifications {
                match timeout(SENDING, send(notification)).await {
                    Ok(true) => {}
                    Ok(false) => return Sent::ClientIsGone,
                    Err(_) => return Sent::TooSlowly,
                }
            }
            Sent::All
        });
        match sending.await {
            Sent::All => is_behind = false,
            Sent::TooSlowly => is_behind = true,
            Sent::ClientIsGone => return,
        }
    }
}

/// The outcome of sending notifications.
enum Sent {
    All,
    /// The client did not take one of them in time.
    TooSlowly,
    ClientIsGone,
}

impl Change {
    /// Returns the notifications of the change that are wanted.
    fn notifications(
        &self,
        wanted: &SubscriptionFilter,
        subscriptions: &Subscriptions,
    ) -> Vec<ServerNotification> {
        let list = |is_wanted: Option<bool>, notification: ServerNotification| match is_wanted {
            Some(true) => vec![notification],
            _ => Vec::new(),
        };
        match self {
            Self::Tools => list(
                wanted.tools_list_changed,
                ServerNotification::ToolListChangedNotification(NotificationNoParam::default()),
            ),
            Self::Prompts => list(
                wanted.prompts_list_changed,
                ServerNotification::PromptListChangedNotification(NotificationNoParam::default()),
            ),
            Self::Resources => list(
                wanted.resources_list_changed,
                ServerNotification::ResourceListChangedNotification(NotificationNoParam::default()),
            ),
            Self::Contents(updates) => updates
                .iter()
                .filter(|update| subscriptions.has(&update.resource))
                .map(|update| updated(&update.uri))
                .collect(),
        }
    }
}

fn updated(uri: &str) -> ServerNotification {
    let params = ResourceUpdatedNotificationParam::new(uri);
    ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(params))
}

/// A stream of changes that a client has open.
pub(crate) struct OpenStream(Arc<AtomicUsize>);

impl OpenStream {
    /// Counts a stream of a session. `streams` is the number of its streams.
    pub(crate) fn open(streams: &Arc<AtomicUsize>) -> Result<Self, ErrorData> {
        let stream = Self(Arc::clone(streams));
        if streams.fetch_add(1, Ordering::Relaxed) < MAX_STREAMS {
            return Ok(stream);
        }
        let message =
            format!("this client has {MAX_STREAMS} streams of changes open; close one of them");
        Err(ErrorData::invalid_request(message, None))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the part of a filter that is served. `tools` is true where the list of tools may change.
pub(crate) fn accepted(
    requested: &SubscriptionFilter,
    tools: bool,
    is_known: impl Fn(&str) -> bool,
) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    accepted.tools_list_changed.take_if(|_| !tools);
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.retain(|uri| is_known(uri));
        uris.truncate(MAX_SUBSCRIPTIONS);
    }
    accepted
}

/// Sends the changes that a stream of revision 2026-07-28 has asked for, once it has subscribed,
/// until the client ends it or `ended` is there.
pub(crate) async fn listen(
    received: Receiver<Change>,
    subscriptions: &Subscriptions,
    stream: &SubscriptionContext,
    subscribing: impl Future<Output = ()>,
    ended: impl Future<Output = ()>,
) {
    let send = |notification| send_on(stream, notification).boxed();
    let following = async {
        // The hooks of the host may take long.
        subscribing.await;
        follow(received, stream.accepted(), subscriptions, send).await;
    };
    tokio::select! {
        () = following => {}
        () = stream.cancelled() => {}
        () = ended => {}
    }
}

/// Sends a notification on a stream. Returns false if the client is gone. rmcp's own way refuses the
/// part of a resource, whose URI the filter of the stream does not have.
async fn send_on(stream: &SubscriptionContext, mut notification: ServerNotification) -> bool {
    let request = stream.request_context();
    let meta = notification.get_meta_mut();
    meta.set_subscription_id(request.id.clone());
    request.peer.send_notification(notification).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    // T15
    #[tokio::test(start_paused = true)]
    async fn a_client_that_was_slow_is_told_of_what_it_missed() {
        let changes = ChangeNotifier::default();
        let subscriptions = Subscriptions::new(&changes, &Client::default(), |_| true);
        subscriptions.add("notes://7".to_owned()).expect("a place");
        let received = changes.0.subscribe();
        let mut wanted = SubscriptionFilter::new();
        wanted.tools_list_changed = Some(true);
        changes.tools_changed();

        let (notified, mut told) = unbounded_channel();
        let attempts = AtomicUsize::new(0);
        let send = |notification| {
            let is_slow = attempts.fetch_add(1, Ordering::Relaxed) == 0;
            let notified = notified.clone();
            let sending = async move {
                if is_slow {
                    pending::<()>().await;
                }
                notified.send(notification).is_ok()
            };
            sending.boxed()
        };
        let both = async { (told.recv().await, told.recv().await) };
        let (first, second) = tokio::select! {
            () = follow(received, &wanted, &subscriptions, send) => panic!("it was given up"),
            both = both => both,
        };
        assert!(matches!(
            first,
            Some(ServerNotification::ResourceUpdatedNotification(_))
        ));
        assert!(matches!(
            second,
            Some(ServerNotification::ToolListChangedNotification(_))
        ));
    }

    /// Sends what a client has to know after some changes, as far as it is ready.
    fn sent(
        received: Receiver<Change>,
        subscriptions: &Subscriptions,
        wanted: &SubscriptionFilter,
    ) -> Vec<ServerNotification> {
        let (notified, mut told) = unbounded_channel();
        let send = |notification| {
            let sending = std::future::ready(notified.send(notification).is_ok());
            sending.boxed()
        };
        let following = follow(received, wanted, subscriptions, send).now_or_never();
        assert!(following.is_none(), "it waits for further changes");
        std::iter::from_fn(|| told.try_recv().ok()).collect()
    }

    // T15
    #[tokio::test]
    async fn many_updates_at_once_are_not_too_many() {
        let changes = ChangeNotifier::default();
        let subscriptions = Subscriptions::new(&changes, &Client::default(), |_| true);
        subscriptions.add("notes://7".to_owned()).expect("a place");
        let received = changes.received();
        let mut wanted = SubscriptionFilter::new();
        wanted.tools_list_changed = Some(true);

        let updates = (0..4 * WAITING).map(|at| ResourceUpdate::of(format!("notes://{at}")));
        changes.updated(updates.collect::<Vec<_>>());
        let sent = sent(received, &subscriptions, &wanted);
        assert!(
            matches!(
                sent.as_slice(),
                [ServerNotification::ResourceUpdatedNotification(only)]
                    if only.params.uri == "notes://7"
            ),
            "{sent:?}"
        );
    }

    // T26
    #[tokio::test]
    async fn a_client_gets_no_update_of_what_it_does_not_see() {
        let changes = ChangeNotifier::default();
        let subscriptions =
            Subscriptions::new(&changes, &Client::default(), |uri| uri != "notes://secret");
        for uri in ["notes://secret", "notes://7"] {
            subscriptions.add(uri.to_owned()).expect("a place");
        }
        let received = changes.received();
        changes.resource_updated("notes://secret");
        changes.resource_updated("notes://7");
        let sent = sent(received, &subscriptions, &SubscriptionFilter::new());
        assert_eq!(sent.len(), 1, "{sent:?}");
    }
}

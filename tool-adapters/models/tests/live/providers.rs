//! The providers: a thread with a server that serves the connections of all conversations.

use crate::board::Board;
use crate::peer::{Peer, Server};
use crate::script::{End, Script};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{Barrier, Mutex};
use tokio::task::JoinSet;

struct Providers {
    server: Server,
    scripts: Vec<Mutex<Script>>,
    /// Passed once the first connections of all conversations are open.
    all_open: Barrier,
}

/// Starts the providers. Returns their URL.
pub(crate) fn start(board: Arc<Board>) -> (String, JoinHandle<()>) {
    let (send_url, url) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let count = board.load.conversations;
            let scripts = (0..count)
                .map(|number| Mutex::new(Script::new(number, Arc::clone(&board))))
                .collect();
            let server = Server::start().await;
            send_url.send(server.url()).expect("the clients wait");
            serve(Arc::new(Providers {
                server,
                scripts,
                all_open: Barrier::new(count),
            }))
            .await;
        });
    });
    (url.recv().expect("a URL"), serving)
}

/// Serves connections until all conversations have finished.
async fn serve(providers: Arc<Providers>) {
    let (mut connections, mut finished) = (JoinSet::new(), 0);
    while finished < providers.scripts.len() {
        tokio::select! {
            stream = providers.server.accept() => {
                let providers = Arc::clone(&providers);
                connections.spawn(async move {
                    let peer = providers.server.peer_over(stream).await;
                    converse(&providers, peer).await
                });
            }
            Some(end) = connections.join_next() => finished += usize::from(end.expect("no panic") == End::Finished),
        }
    }
}

async fn converse(providers: &Providers, mut peer: Peer) -> End {
    let setup = peer.receive().await;
    let number = peer
        .model()
        .rsplit('/')
        .next()
        .and_then(|model| model.parse::<usize>().ok())
        .expect("a number");
    let mut script = providers.scripts[number].lock().await;
    if script.begin(&setup, &mut peer).await {
        providers.all_open.wait().await;
    }
    let end = script.play(&mut peer).await;
    match end {
        End::Finished => script.wait_until_closed(&mut peer).await,
        End::Broken if script.numbers.below(2) == 0 => peer.close(1011, "internal error").await,
        End::Broken => drop(peer),
    }
    end
}

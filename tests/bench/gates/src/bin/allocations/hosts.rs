//! Client to handler.

use crate::{MESSAGES, SIZE, Side, WARM_UP, Workload};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Notify;
use zlink::{Client, Host, Message, Reply, Server};

const CHANNEL: &str = "bench";
const PACKET: &str = "Item";

/// What the handlers counted; they run one at a time.
#[derive(Default)]
pub(crate) struct Handled {
    messages: AtomicU64,
    /// Rings after the messages that warm up, and after all.
    bell: Notify,
}

impl Handled {
    fn count(&self) {
        let messages = self.messages.load(Relaxed) + 1;
        self.messages.store(messages, Relaxed);
        if messages == WARM_UP || messages == WARM_UP + MESSAGES {
            self.bell.notify_one();
        }
    }
}

pub(crate) enum Hosts {
    Server { _host: Host, _server: Server, handled: &'static Handled },
    Client { _host: Host, client: Client, workload: Workload },
}

impl Side for Hosts {
    async fn server(_workload: Workload) -> (Self, String) {
        let handled: &'static Handled = Box::leak(Box::default());
        let host = Host::builder().start().expect("default options");
        let server = host
            .server(CHANNEL)
            .on_send(PACKET, move |_, _| async move {
                handled.count();
                Ok(())
            })
            .on_request(PACKET, move |_, message| async move {
                handled.count();
                Ok(Reply::new(message.payload().clone()))
            })
            .bind("tcp://127.0.0.1:0")
            .await
            .expect("a free port");
        let endpoint = server.endpoint().to_string();
        (Self::Server { _host: host, _server: server, handled }, endpoint)
    }

    async fn client(workload: Workload, endpoint: &str) -> Self {
        let host = Host::builder().start().expect("default options");
        let client = host.client(CHANNEL).connect(endpoint).await.expect("well-formed endpoint");
        client.ready().await.expect("a server");
        Self::Client { _host: host, client, workload }
    }

    async fn run(&mut self, messages: u64) {
        match self {
            Self::Server { handled, .. } => handled.bell.notified().await,
            Self::Client { client, workload: Workload::W1, .. } => {
                for _ in 0..messages {
                    client.send(Message::new(PACKET, &[7; SIZE][..])).await.expect("a live server");
                }
            }
            Self::Client { client, workload, .. } => {
                let tasks = workload.outstanding();
                let tasks: Vec<_> = (0..tasks)
                    .map(|_| {
                        let client = client.clone();
                        tokio::spawn(async move {
                            for _ in 0..messages / tasks {
                                client.request(Message::new(PACKET, &[7; SIZE][..])).await.expect("a reply");
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.expect("no panic");
                }
            }
        }
    }
}

//! DEALER to ROUTER.

use crate::{SIZE, Side, Workload};
use zlink::socket::{Dealer, Received, Router, SocketOptions};

const BATCH_RECORDS: usize = 1024;

pub(crate) enum Sockets {
    Server { router: Router, batch: Vec<Received> },
    Client { dealer: Dealer, workload: Workload },
}

impl Side for Sockets {
    async fn server(_workload: Workload) -> (Self, String) {
        let router = Router::new(SocketOptions::default()).expect("default options");
        let endpoint = router.bind("tcp://127.0.0.1:0").await.expect("a free port");
        (Self::Server { router, batch: Vec::new() }, endpoint)
    }

    async fn client(workload: Workload, endpoint: &str) -> Self {
        let dealer = Dealer::new(SocketOptions::default()).expect("default options");
        dealer.connect(endpoint).expect("well-formed endpoint");
        dealer.ready().await.expect("a server");
        Self::Client { dealer, workload }
    }

    async fn run(&mut self, messages: u64) {
        match self {
            Self::Server { router, batch } => serve(router, batch, messages).await,
            Self::Client { dealer, workload } if *workload == Workload::W1 => {
                for _ in 0..messages {
                    dealer.send(&[7; SIZE][..]).await.expect("a live server");
                }
            }
            Self::Client { dealer, workload } => {
                let tasks = workload.outstanding();
                let tasks: Vec<_> = (0..tasks)
                    .map(|_| {
                        let dealer = dealer.clone();
                        tokio::spawn(async move {
                            for _ in 0..messages / tasks {
                                dealer.request(&[7; SIZE][..]).await.expect("a reply");
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

/// Takes this many records and answers the requests among them.
async fn serve(router: &Router, batch: &mut Vec<Received>, messages: u64) {
    let mut left = messages as usize;
    while left > 0 {
        left -= router.recv_many(batch, BATCH_RECORDS.min(left)).await.expect("open socket");
        for Received { record, token, .. } in batch.drain(..) {
            if let Some(token) = token {
                router.reply(token, record.part(0).unwrap_or_default()).await.expect("a live client");
            }
        }
    }
}

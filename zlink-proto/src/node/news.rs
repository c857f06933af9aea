//! What happened on sockets reaches the host's side, in order.

use super::desk::News;
use super::{HostSide, Reach};
use crate::host::{SocketKey, SourceId};
use crate::time::Timestamp;
use alloc::vec::Vec;

/// Takes the news of all marked sockets. One loop calls it: the news of one socket keep their order. Afterwards `run_actions` may
/// have something to do.
pub fn run_news<R: Reach>(reach: &mut R) {
    let mut news = Vec::new();
    while let Some(key) = reach.host(HostSide::take_mark) {
        reach.socket(key, |_, desk, _| desk.take_news(&mut news));
        if !news.is_empty() {
            let now = reach.now();
            reach.host(|side| news.drain(..).for_each(|one| side.handle_news(key, one, now)));
        }
    }
}

impl HostSide {
    fn handle_news(&mut self, key: SocketKey, news: News, now: Timestamp) {
        match news {
            News::Ready { set, routing_id, endpoint } => {
                let source = SourceId { socket: key, set };
                let Some(role) = self.role_mut(key) else { return };
                role.sessions.open(set, routing_id, endpoint);
                self.host.add_source(source, now);
                // Its first record may have come before it was known here.
                self.host.readable(source, now);
            }
            News::Answer { set, outcome } => {
                let parts = self.split(key);
                let Some(role) = parts.role else { return };
                role.handle_answer(set, outcome, parts.seen);
                self.note_change(key);
            }
            News::FenceOver { set } => self.host.fence_over(SourceId { socket: key, set }),
            News::Lost { set } => {
                let source = SourceId { socket: key, set };
                if let Some(role) = self.role_mut(key) {
                    role.sessions.lose(set);
                }
                // What it had sent before is admitted as in serving (M-62a); its fence ends with its source.
                self.replies.leave(source);
                self.note_change(key);
            }
            News::Drained { set } => {
                if let Some(role) = self.role_mut(key) {
                    role.sessions.remove(set);
                }
                self.host.remove_source(SourceId { socket: key, set }, now);
            }
        }
    }
}

//! Composition: the only place in which one machine's output becomes another's input.
//!
//! [`HostSide`] is everything that belongs to the jobs authority and to ClientServer sessions: what a driver keeps under its
//! one host lock. [`SocketSide`] is the little that the composition keeps beside each socket, under that socket's lock. The steps
//! between them are written once over [`Reach`]: a direct borrow in [`Node`], a lock in a driver. No step holds the host and a
//! socket at once.
//!
//! ```text
//!  behind every section on a socket:  SocketSide::sift ──news──▶ HostSide::mark ──▶ run_news
//!  readable edges ──HostSide::readable──▶ serve_turns ──attach──▶ owners ──▶ drains: start, next
//!  one loop of the host, until nothing is left:  run_news, apply_flows, serve_turns, run_actions   (step)
//!  handlers:  claim_reply on the host's side, then send_reply on the socket
//! ```

mod action;
mod answer;
mod control;
mod desk;
mod drain;
mod job;
mod news;
mod observe;
mod reach;
mod replies;
mod role;
mod routes;
mod session;
mod shutdown;
mod side;
mod single;
mod turn;

pub use action::{apply_flows, run_actions};
pub use answer::{Answer, AnswerError};
pub use desk::SocketSide;
pub use drain::{Claimed, send_reply};
pub use job::{Content, Job, Started};
pub use news::run_news;
pub use observe::{OBSERVATIONS_MAX, Observation, Observed};
pub use reach::Reach;
pub use replies::{ClaimError, ReplyId};
pub use role::{ClientConfig, ServerConfig};
pub use routes::HandlerConfig;
pub use shutdown::{leftovers, shutdown_step, stop};
pub use side::HostSide;
pub use single::{Node, NodeOutput};
pub use turn::{Scratch, serve_turns};

/// One pass of the host's loop: news, flow states, one rotation of receive turns, actions. True: there is more to do at once.
pub fn step<R: Reach>(reach: &mut R, scratch: &mut Scratch) -> bool {
    run_news(reach);
    run_actions(reach);
    apply_flows(reach);
    serve_turns(reach, scratch);
    run_actions(reach);
    apply_flows(reach);
    reach.host(|side| side.has_work())
}

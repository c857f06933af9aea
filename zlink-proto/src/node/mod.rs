//! Composition: the only place in which one machine's output becomes another's input.
//!
//! [`HostSide`] is everything that belongs to the jobs authority and to ClientServer sessions: what a driver keeps under its
//! one host lock. [`serve_turns`], [`apply_flows`], [`run_actions`] and [`shutdown_step`] are the steps between it and the
//! sockets, written once over [`Reach`]: a direct borrow in a single-threaded loop, a lock in a driver. No step holds the host
//! and a socket at once.
//!
//! ```text
//!  socket outputs ──handle_output──▶ HostSide ──poll actions──▶ perform on the socket ──feedback──▶ HostSide
//!  socket results ──handle_settled─▶    │                                                             │
//!  readable edges ──readable──────▶ receive turns ──attach──▶ owners ──▶ drains of the driver   status, shutdown
//! ```

mod action;
mod control;
mod job;
mod reach;
mod role;
mod session;
mod shutdown;
mod side;
mod turn;

pub use job::Job;
pub use reach::Reach;
pub use role::{ClientConfig, ServerConfig};
pub use shutdown::{leftovers, shutdown_step, stop};
pub use side::{Change, HostSide};
pub use turn::{Scratch, serve_turns};

pub use action::{apply_flows, run_actions};

//! The loops of a zlink driver, once: generic over a small [`runtime::Runtime`] trait, without an executor of their own.
//!
//! ```text
//!  application ──submit──▶ ┌──────────────┐ ◀──exchange── connection task ◀──▶ TCP stream
//!              ◀─receive── │ S: one lock  │               (one per connection: reads, writes, its timer)
//!                          │ per socket   │ ◀──outputs─── socket task (its timer, connection attempts)
//!                          └──────────────┘ ◀──accepted── listener task (one per listener)
//! ```
//!
//! A lock is held for one batch or one call, never across an await, and whoever was woken inside is woken after the unlock.
//! No protocol decision is made here: everything that an endpoint says or does is decided in `zlink_proto`.

mod alarm;
mod blocking;
mod error;
pub mod host;
mod net;
pub mod runtime;
pub mod socket;
mod sync;

pub use error::{Error, Family, TrySendError};
pub use zlink_proto::error::{ErrorKind, Submission};

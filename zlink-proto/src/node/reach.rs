//! How the steps of the composition get at host and sockets.

use super::HostSide;
use crate::host::SocketKey;
use crate::time::Timestamp;
use crate::transport::Socket;

/// Access to one host and its sockets. A driver implements it with its locks: each call is one section, and no call happens
/// inside another one's closure.
pub trait Reach {
    /// Runs `step` on the host's side.
    fn host<T>(&mut self, step: impl FnOnce(&mut HostSide) -> T) -> T;

    /// Runs `step` on a socket; `None` if it is gone. `clock` may be read inside a long section (H-51).
    fn socket<T>(
        &mut self,
        key: SocketKey,
        step: impl FnOnce(&mut Socket, &dyn Fn() -> Timestamp) -> T,
    ) -> Option<T>;

    /// The time.
    fn now(&self) -> Timestamp;
}

//! How the steps of the composition get at host and sockets.

use super::{HostSide, SocketSide};
use crate::host::SocketKey;
use crate::time::Timestamp;
use crate::transport::Socket;

/// Access to one host and its sockets. A driver implements it with its locks: each call is one section, and no call happens
/// inside another one's closure.
pub trait Reach {
    /// Runs `step` on the host's side.
    fn host<T>(&mut self, step: impl FnOnce(&mut HostSide) -> T) -> T;

    /// Runs `step` on a socket and what the composition keeps beside it; `None` if it is gone. `clock` may be read inside a long
    /// section (H-51). Behind every section on a socket, this one included, its owner calls [`SocketSide::sift`].
    fn socket<T>(
        &mut self,
        key: SocketKey,
        step: impl FnOnce(&mut Socket, &mut SocketSide, &dyn Fn() -> Timestamp) -> T,
    ) -> Option<T>;

    /// The time.
    fn now(&self) -> Timestamp;
}

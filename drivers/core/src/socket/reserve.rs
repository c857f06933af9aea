//! Room that is booked before the message exists (O-35).

use super::call::{Address, Raw, Submit, Wait};
use super::shared::Shared;
use crate::error::{Error, TrySendError};
use crate::runtime::Runtime;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::id::OperationId;
use zlink_proto::message::Outgoing;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{Outcome, Refused};

/// A wait for room, at most the send timeout. Dropping it withdraws it.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Reserve<'a, R: Runtime> {
    shared: &'a Shared<R>,
    address: Address<'a>,
    bytes: u64,
    state: State,
}

enum State {
    New,
    Waits(Wait),
    Over,
}

impl<'a, R: Runtime> Reserve<'a, R> {
    pub(crate) const fn new(shared: &'a Shared<R>, address: Address<'a>, bytes: u64) -> Self {
        Self { shared, address, bytes, state: State::New }
    }

    fn granted(&self, operation: OperationId) -> Reservation<'a, R> {
        Reservation { shared: self.shared, address: self.address, operation: Some(operation) }
    }

    fn submit(&mut self, context: &mut Context<'_>) -> Poll<Result<Reservation<'a, R>, Error>> {
        let (shared, target, bytes) = (self.shared, self.address.target, self.bytes);
        let mut since = Timestamp::ZERO;
        let clock = || {
            since = shared.runtime.now();
            since
        };
        let reservation = shared.section(|locked| {
            locked.check_sealed()?;
            let reservation = locked.socket.reserve(target, bytes, None, clock)?;
            if !reservation.is_granted {
                locked.slots.register(reservation.operation, context.waker());
            }
            Ok(reservation)
        });
        match reservation {
            Ok(reservation) if reservation.is_granted => Poll::Ready(Ok(self.granted(reservation.operation))),
            Ok(reservation) => {
                self.state = State::Waits(Wait { operation: reservation.operation, since });
                Poll::Pending
            }
            Err(refused) => Poll::Ready(Err(self.address.refused(refused))),
        }
    }
}

impl<'a, R: Runtime> Future for Reserve<'a, R> {
    type Output = Result<Reservation<'a, R>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.state, State::Over) {
            State::New => this.submit(context),
            State::Waits(wait) => {
                let outcome =
                    this.shared.section(|locked| locked.slots.poll(wait.operation, context.waker()));
                match outcome {
                    None => {
                        this.state = State::Waits(wait);
                        Poll::Pending
                    }
                    // A granted reservation keeps its operation.
                    Some(Outcome::Sent | Outcome::Reply(_)) => Poll::Ready(Ok(this.granted(wait.operation))),
                    Some(Outcome::Failed(failure)) => {
                        this.shared.section(|locked| locked.socket.collected(wait.operation));
                        let elapsed = wait.elapsed(this.shared);
                        Poll::Ready(Err(this.address.error(failure, elapsed)))
                    }
                }
            }
            State::Over => panic!("polled after its end"),
        }
    }
}

impl<R: Runtime> Drop for Reserve<'_, R> {
    fn drop(&mut self) {
        if let State::Waits(wait) = &self.state {
            let now = self.shared.runtime.now();
            self.shared.section(|locked| {
                locked.slots.forget(wait.operation);
                locked.socket.release_reservation(wait.operation, now);
            });
        }
    }
}

/// Booked room for one record. Unused, all of it returns when this is dropped; it ends by itself after one send timeout, and
/// with its peer.
#[must_use = "unused room returns at once"]
pub struct Reservation<'a, R: Runtime> {
    shared: &'a Shared<R>,
    address: Address<'a>,
    operation: Option<OperationId>,
}

impl<R: Runtime> Reservation<'_, R> {
    /// Sends with it, without waiting. Surplus room returns. A larger record needs the extra room at once.
    ///
    /// # Errors
    /// Gives the message back: `Full` if the extra room is not there (the reservation is still good), `Failed` with
    /// `Unavailable` if the reservation had ended.
    pub fn send<M: Outgoing>(&mut self, message: M) -> Result<(), TrySendError<M>> {
        let mut message = Raw(message);
        match self.submit(&mut message) {
            Ok(()) => Ok(()),
            Err(None) => Err(TrySendError::Full(message.0)),
            Err(Some(error)) => Err(TrySendError::Failed(message.0, error)),
        }
    }

    /// None: there is no room for the rest.
    pub(crate) fn submit<S: Submit>(&mut self, message: &mut S) -> Result<(), Option<Error>> {
        let Some(operation) = self.operation else {
            let failure = Failure::not_submitted(ErrorKind::InvalidOperation, "the reservation was used");
            return Err(Some(self.address.error(failure, Duration::ZERO)));
        };
        let now = self.shared.runtime.now();
        let sent =
            self.shared.section(|locked| locked.socket.send_reserved(operation, &mut message.record(), now));
        match sent {
            Ok(()) => {
                self.operation = None;
                Ok(())
            }
            Err(Refused::Full) => Err(None),
            Err(Refused::Failed(failure)) => Err(Some(self.address.error(failure, Duration::ZERO))),
        }
    }
}

impl<R: Runtime> Drop for Reservation<'_, R> {
    fn drop(&mut self) {
        if let Some(operation) = self.operation {
            let now = self.shared.runtime.now();
            self.shared.section(|locked| locked.socket.release_reservation(operation, now));
        }
    }
}

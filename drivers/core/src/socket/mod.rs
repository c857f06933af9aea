//! Raw sockets: DEALER and ROUTER. Records in, records out; reconnecting, byte limits, requests and replies are the machine's.

pub(crate) mod call;
mod close;
mod connection_task;
mod events;
mod futures;
mod options;
mod receive;
mod reply;
mod reserve;
pub(crate) mod shared;
mod slots;
mod tasks;

pub use close::CloseReport;
pub use events::Events;
pub use futures::{Request, Send};
pub use options::SocketOptions;
pub use receive::Received;
pub use reply::{Reply, ReplyToken};
pub use reserve::{Reservation, Reserve};
pub use zlink_proto::id::{RoutingId, SetId};
pub use zlink_proto::message::{Body, Outgoing, Part};
pub use zlink_proto::transport::{DuplicatePolicy, EndReason, Event, EventKind, SocketStatus};
pub use zlink_proto::wire::Record;

use crate::blocking::block_on;
use crate::error::{Error, Family, TrySendError};
use crate::net;
use crate::runtime::Runtime;
use crate::sync::WaiterKey;
use call::Address;
use receive::{Many, One, Receive};
use shared::{ListenerEntry, Shared};
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tasks::{ListenerTask, SocketTask};
use zlink_proto::error::{ErrorKind, Failure};
use zlink_proto::transport::endpoint::EndpointUse;
use zlink_proto::transport::{Refused, Socket, Target};
use zlink_proto::wire::SocketType;

/// What both kinds of sockets are: a handle that shares the socket with its clones and with the tasks.
struct Handle<R: Runtime> {
    shared: Arc<Shared<R>>,
    /// The last one closes the socket.
    _last: Arc<LastHandle<R>>,
}

impl<R: Runtime> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), _last: Arc::clone(&self._last) }
    }
}

struct LastHandle<R: Runtime>(Arc<Shared<R>>);

impl<R: Runtime> Drop for LastHandle<R> {
    fn drop(&mut self) {
        let now = self.0.runtime.now();
        self.0.section(|locked| locked.socket.close(None, now));
    }
}

impl<R: Runtime> Handle<R> {
    fn new(socket_type: SocketType, options: SocketOptions) -> Result<Self, Error> {
        options.check()?;
        let runtime =
            R::current().map_err(|error| Error::setup(ErrorKind::InvalidOperation, "socket", error))?;
        let socket = Socket::new(socket_type, options.machine, shared::seed())
            .map_err(|error| Error::setup(ErrorKind::InvalidOperation, "socket", error))?;
        let shared = Shared::new(runtime, socket, options.net, None);
        SocketTask::spawn(Arc::clone(&shared));
        Ok(Self { _last: Arc::new(LastHandle(Arc::clone(&shared))), shared })
    }

    async fn bind(&self, endpoint: &str) -> Result<String, Error> {
        let shared = &self.shared;
        let parsed = net::parse(endpoint, EndpointUse::Bind)?;
        let (listener, bound) = net::listen(&shared.runtime, &parsed, &shared.net).await?;
        let name = bound.to_string();
        let id = shared.section(|locked| {
            let id = locked.socket.add_listener();
            locked.listeners.push(ListenerEntry { id, endpoint: name.clone(), waker: None });
            id
        });
        ListenerTask::spawn(Arc::clone(shared), listener, id);
        tracing::info!(endpoint = %name, "zlink.socket.listening");
        Ok(name)
    }

    fn unbind(&self, endpoint: &str, keep_peers: bool) -> Result<(), Error> {
        let now = self.shared.runtime.now();
        self.shared.section(|locked| {
            let entry = locked.listeners.iter().find(|entry| entry.endpoint == endpoint);
            let id = entry.ok_or_else(|| Error::setup(ErrorKind::NotFound, endpoint, "no such listener"))?.id;
            locked.socket.remove_listener(id, keep_peers, now);
            Ok(())
        })
    }

    fn connect(&self, endpoint: &str) -> Result<(), Error> {
        let now = self.shared.runtime.now();
        let parsed = net::parse(endpoint, EndpointUse::Connect)?;
        self.shared.section(|locked| {
            let id = locked
                .socket
                .connect(endpoint, now)
                .map_err(|failure| Error::new(failure, Family::Setup, endpoint, Duration::ZERO))?;
            locked.endpoints.push((parsed, id));
            Ok(())
        })
    }

    fn disconnect(&self, endpoint: &str) -> Result<(), Error> {
        let now = self.shared.runtime.now();
        let parsed = net::parse(endpoint, EndpointUse::Connect)?;
        self.shared.section(|locked| {
            let place = locked.endpoints.iter().position(|(known, _)| *known == parsed);
            let place = place.ok_or_else(|| Error::setup(ErrorKind::NotFound, endpoint, "not connected"))?;
            let (_, id) = locked.endpoints.swap_remove(place);
            locked
                .socket
                .disconnect(id, now)
                .map_err(|failure| Error::new(failure, Family::Setup, endpoint, Duration::ZERO))
        })
    }

    fn try_send<M: Outgoing>(&self, target: Target<'_>, mut message: M) -> Result<(), TrySendError<M>> {
        let sent = self.shared.section(|locked| locked.socket.try_send(target, &mut message));
        match sent {
            Ok(()) => Ok(()),
            Err(Refused::Full) => Err(TrySendError::Full(message)),
            Err(Refused::Failed(failure)) => {
                let error = Address::raw(target, Family::Send).error(failure, Duration::ZERO);
                Err(TrySendError::Failed(message, error))
            }
        }
    }

    async fn ready(&self) -> Result<(), Error> {
        let mut waiter = Waiter { shared: &self.shared, key: WaiterKey::default() };
        poll_fn(|context| {
            self.shared.section(|locked| {
                if locked.ready_peers > 0 {
                    return Poll::Ready(Ok(()));
                }
                if locked.is_closed {
                    let failure = Failure::not_submitted(ErrorKind::ShuttingDown, "the socket is closed");
                    return Poll::Ready(Err(Error::new(failure, Family::Setup, "any peer", Duration::ZERO)));
                }
                locked.ready_waiters.register(&mut waiter.key, context.waker());
                Poll::Pending
            })
        })
        .await
    }

    fn receive<S>(&self, sink: S) -> Receive<'_, R, S> {
        Receive { shared: &self.shared, sink, waiter: WaiterKey::default() }
    }
}

/// Takes its waker back when the wait ends early.
struct Waiter<'a, R: Runtime> {
    shared: &'a Shared<R>,
    key: WaiterKey,
}

impl<R: Runtime> Drop for Waiter<'_, R> {
    fn drop(&mut self) {
        if self.key.is_used() {
            self.shared.section(|locked| {
                locked.ready_waiters.deregister(&self.key);
            });
        }
    }
}

macro_rules! common {
    ($name:ident) => {
        impl<R: Runtime> $name<R> {
            /// Listens. Returns the endpoint with the real port. Nothing of a failed bind remains.
            ///
            /// # Errors
            /// `InvalidOperation` for an address that is not legal, `AlreadyExists` if it is in use, `Rejected` if it is not
            /// permitted, `Unavailable` if it is none of this machine.
            pub async fn bind(&self, endpoint: &str) -> Result<String, Error> {
                self.handle.bind(endpoint).await
            }

            /// Stops listening on an endpoint as `bind` returned it. Its peers end, unless they are to be kept (N-06).
            ///
            /// # Errors
            /// `NotFound`: no such listener.
            pub fn unbind(&self, endpoint: &str, keep_peers: bool) -> Result<(), Error> {
                self.handle.unbind(endpoint, keep_peers)
            }

            /// Registers an endpoint: it is connected, and connected again after each end, until `disconnect`.
            ///
            /// # Errors
            /// `InvalidOperation` for an address that is not legal, `AlreadyExists` if it is connected already.
            pub fn connect(&self, endpoint: &str) -> Result<(), Error> {
                self.handle.connect(endpoint)
            }

            /// Ends an endpoint and its peer.
            ///
            /// # Errors
            /// `NotFound`: not connected.
            pub fn disconnect(&self, endpoint: &str) -> Result<(), Error> {
                self.handle.disconnect(endpoint)
            }

            /// Waits for at least one ready peer.
            ///
            /// # Errors
            /// `ShuttingDown`: the socket is closed.
            pub async fn ready(&self) -> Result<(), Error> {
                self.handle.ready().await
            }

            /// The next record, of all peers in turn. Dropping the future loses nothing.
            ///
            /// # Errors
            /// `ShuttingDown`: the socket is closed.
            pub fn recv(&self) -> impl Future<Output = Result<Received<R>, Error>> + std::marker::Send + '_ {
                self.handle.receive(One(None))
            }

            /// Waits for records and appends what is there, at most `max`, to `into`. Returns how many. Dropping the future loses
            /// nothing.
            ///
            /// # Errors
            /// `ShuttingDown`: the socket is closed.
            pub fn recv_many<'a>(
                &'a self,
                into: &'a mut Vec<Received<R>>,
                max: usize,
            ) -> impl Future<Output = Result<usize, Error>> + std::marker::Send + 'a {
                self.handle.receive(Many { into, max })
            }

            /// As `recv`, for plain threads.
            ///
            /// # Errors
            /// As `recv`; `InvalidOperation` inside a handler.
            pub fn recv_blocking(&self) -> Result<Received<R>, Error> {
                block_on(Family::Receive, "any peer", self.recv())
            }

            /// What happens on this socket from now on. Nobody has to read it; a reader that falls behind loses the newest.
            pub fn events(&self) -> Events<R> {
                Events::new(&self.handle.shared)
            }

            /// Our name on the wire.
            pub fn routing_id(&self) -> RoutingId {
                self.handle.shared.section(|locked| locked.socket.routing_id().clone())
            }

            /// What this socket holds now, without effect on anything. Costs time in proportion to the number of peers.
            pub fn status(&self) -> SocketStatus {
                self.handle.shared.section(|locked| locked.socket.snapshot())
            }

            /// Closes for all handles: waiting operations end `ShuttingDown`, what was accepted is transmitted for at most the
            /// linger. Without this call the last handle that is dropped closes in the background. Dropping the future only ends
            /// the wait.
            pub async fn close(&self) -> CloseReport {
                close::close(&self.handle.shared, None).await
            }

            /// As `close`, with another linger, which can only be shortened later.
            pub async fn close_within(&self, linger: Duration) -> CloseReport {
                close::close(&self.handle.shared, Some(linger)).await
            }
        }

        impl<R: Runtime> Clone for $name<R> {
            fn clone(&self) -> Self {
                Self { handle: self.handle.clone() }
            }
        }

        impl<R: Runtime> fmt::Debug for $name<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

/// Sends each record to one of its peers, chosen by weight among those that can take it. Clones share the socket.
pub struct Dealer<R: Runtime> {
    handle: Handle<R>,
}

/// Sends to the peer that is named, answers requests. Clones share the socket.
pub struct Router<R: Runtime> {
    handle: Handle<R>,
}

common!(Dealer);
common!(Router);

impl<R: Runtime> Dealer<R> {
    /// Makes a socket on the runtime that runs the caller.
    ///
    /// # Errors
    /// `InvalidOperation`: an option is out of range (each is named), or there is no runtime.
    pub fn new(options: SocketOptions) -> Result<Self, Error> {
        Handle::new(SocketType::Dealer, options).map(|handle| Self { handle })
    }

    /// Sends to a peer that can take the record, or waits until one can, at most the send timeout. See [`Send`] for what dropping
    /// the future means.
    ///
    /// # Errors
    /// `DeadlineExceeded`: no room in time, or too many sends wait here; `Unavailable`: the chosen peer was lost; nothing was sent.
    #[inline]
    pub fn send<M: Outgoing>(&self, message: M) -> Send<'_, R, M> {
        Send::new(&self.handle.shared, Target::Any, message)
    }

    /// As `send`, for plain threads.
    ///
    /// # Errors
    /// As `send`; `InvalidOperation` inside a handler.
    pub fn send_blocking<M: Outgoing>(&self, message: M) -> Result<(), Error> {
        block_on(Family::Send, "any peer", self.send(message))
    }

    /// As `request`, for plain threads.
    ///
    /// # Errors
    /// As `request`; `InvalidOperation` inside a handler.
    pub fn request_blocking<M: Outgoing>(&self, message: M) -> Result<Record, Error> {
        block_on(Family::Request, "any peer", self.request(message))
    }

    /// Sends if that needs no wait.
    ///
    /// # Errors
    /// Gives the message back.
    pub fn try_send<M: Outgoing>(&self, message: M) -> Result<(), TrySendError<M>> {
        self.handle.try_send(Target::Any, message)
    }

    /// Books room for a record of `bytes`: the send with it cannot wait any more (O-35).
    pub fn reserve(&self, bytes: u64) -> Reserve<'_, R> {
        Reserve::new(&self.handle.shared, Address::raw(Target::Any, Family::Send), bytes)
    }

    /// Sends a request and waits for its reply, at most the request timeout. See [`Request`] for what dropping the future means.
    ///
    /// # Errors
    /// The first of reply, failure, deadline (O-06).
    pub fn request<M: Outgoing>(&self, message: M) -> Request<'_, R, M> {
        Request::new(&self.handle.shared, Target::Any, message)
    }
}

impl<R: Runtime> Router<R> {
    /// Makes a socket on the runtime that runs the caller.
    ///
    /// # Errors
    /// `InvalidOperation`: an option is out of range (each is named), or there is no runtime.
    pub fn new(options: SocketOptions) -> Result<Self, Error> {
        Handle::new(SocketType::Router, options).map(|handle| Self { handle })
    }

    /// Sends to the peer of this name, or waits for room, at most the send timeout. See [`Send`] for what dropping the future
    /// means.
    ///
    /// # Errors
    /// `NotFound`: nobody has this name; `DeadlineExceeded`: no room in time; `Unavailable`: the peer was lost; nothing was sent.
    #[inline]
    pub fn send_to<'a, M: Outgoing>(&'a self, to: &'a RoutingId, message: M) -> Send<'a, R, M> {
        Send::new(&self.handle.shared, Target::Named(to), message)
    }

    /// As `send_to`, for plain threads.
    ///
    /// # Errors
    /// As `send_to`; `InvalidOperation` inside a handler.
    pub fn send_to_blocking<M: Outgoing>(&self, to: &RoutingId, message: M) -> Result<(), Error> {
        block_on(Family::Send, &to.to_string(), self.send_to(to, message))
    }

    /// As `reply`, for plain threads.
    ///
    /// # Errors
    /// As `reply`; `InvalidOperation` inside a handler.
    pub fn reply_blocking<M: Outgoing>(&self, token: ReplyToken<R>, message: M) -> Result<(), Error> {
        block_on(Family::Reply, "requester", self.reply(token, message))
    }

    /// Sends if that needs no wait.
    ///
    /// # Errors
    /// Gives the message back.
    pub fn try_send_to<M: Outgoing>(&self, to: &RoutingId, message: M) -> Result<(), TrySendError<M>> {
        self.handle.try_send(Target::Named(to), message)
    }

    /// Books room for a record of `bytes` to the peer of this name (O-35).
    pub fn reserve_to<'a>(&'a self, to: &'a RoutingId, bytes: u64) -> Reserve<'a, R> {
        Reserve::new(&self.handle.shared, Address::raw(Target::Named(to), Family::Send), bytes)
    }

    /// Sends a request to the ROUTER of this name and waits for its reply.
    ///
    /// # Errors
    /// As for a DEALER; `InvalidOperation` if the peer is a DEALER.
    pub fn request_to<'a, M: Outgoing>(&'a self, to: &'a RoutingId, message: M) -> Request<'a, R, M> {
        Request::new(&self.handle.shared, Target::Named(to), message)
    }

    /// Answers a request; waits for room at most the reply timeout. See [`Reply`] for what dropping the future means.
    ///
    /// # Errors
    /// `Unavailable`: the requester is gone; `DeadlineExceeded`: no room in time.
    pub fn reply<M: Outgoing>(&self, token: ReplyToken<R>, message: M) -> Reply<R, M> {
        Reply::new(token, message)
    }
}

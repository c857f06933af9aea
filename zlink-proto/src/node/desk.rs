//! What the composition keeps beside each socket, under the socket's lock: operations of its own, and news for the host's side.
//!
//! News are taken in order by one loop ([`run_news`](super::run_news)): what happened first on a socket reaches the host's side first.

use crate::error::{ErrorKind, Failure, Submission};
use crate::id::{EndpointId, OperationId, RoutingId, SetId};
use crate::time::Timestamp;
use crate::transport::{EndReason, Outcome, Settled, Slot, Socket, SocketOutput, Target};
use crate::wire::Record;
use crate::wire::service::{Command, Scope, Sender, decode, encode_liveness, is_reply_to};
use alloc::vec::Vec;
use core::time::Duration;

/// The longest timeout (O-10): hello has a clock of its own, which can stand still (S-31).
const LONGEST: Duration = Duration::from_millis(0x7fff_ffff);
/// Reason with which a connection closes whose peer does not keep to the protocol (S-07).
pub(super) const PROTOCOL_ERROR: &str = "service protocol error";

/// What the host's side has to know of a socket. State of sets, not a log: a few per set.
#[derive(Debug)]
pub(super) enum News {
    /// A set is ready.
    Ready { set: SetId, routing_id: RoutingId, endpoint: Option<EndpointId> },
    /// The end of our hello on this set.
    Answer { set: SetId, outcome: Outcome },
    /// Everything that the peer had for us came (M-62a).
    FenceOver { set: SetId },
    /// It ended; records of it may be left.
    Lost { set: SetId },
    /// Nothing of it is left.
    Drained { set: SetId },
}

/// An operation for which nobody waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Own {
    Hello(SetId),
    Reply,
}

/// See the module. One beside each socket of a host; [`HostSide`](super::HostSide) makes it.
#[derive(Debug, Default)]
pub struct SocketSide {
    /// Part 0 of hello, on the socket of a client.
    hello: Option<Vec<u8>>,
    /// By place of the operation.
    own: Vec<Option<(u64, Own)>>,
    own_count: u32,
    news: Vec<News>,
    is_sealed: bool,
    failed_replies: u64,
}

impl SocketSide {
    pub(super) fn new(hello: Option<Vec<u8>>) -> Self {
        Self { hello, ..Self::default() }
    }

    /// New operations of callers are refused (M-61). Replies of running handlers go on.
    ///
    /// # Errors
    /// `ShuttingDown`, not submitted.
    #[inline]
    pub fn check_sealed(&self) -> Result<(), Failure> {
        if self.is_sealed {
            Err(Failure::not_submitted(ErrorKind::ShuttingDown, "the host shuts down"))
        } else {
            Ok(())
        }
    }

    pub(super) fn seal(&mut self) {
        self.is_sealed = true;
    }

    /// A reply waits for room and nobody waits for its end.
    pub fn own_reply(&mut self, operation: OperationId) {
        self.note_own(operation, Own::Reply);
    }

    /// Replies that ended without being admitted (O-62), since the start.
    pub fn failed_replies(&self) -> u64 {
        self.failed_replies
    }

    fn note_own(&mut self, operation: OperationId, own: Own) {
        let place = operation.slot as usize;
        if self.own.len() <= place {
            self.own.resize(place + 1, None);
        }
        if let Some(entry) = self.own.get_mut(place) {
            *entry = Some((operation.serial, own));
            self.own_count += 1;
        }
    }

    fn take_own(&mut self, operation: OperationId) -> Option<Own> {
        if self.own_count == 0 {
            return None;
        }
        let entry = self.own.get_mut(operation.slot as usize)?;
        let (_, own) = entry.take_if(|(serial, _)| *serial == operation.serial)?;
        self.own_count -= 1;
        Some(own)
    }

    /// Takes what the socket has to say, behind every section on it: results and outputs of the composition stay here, all others
    /// are appended for the caller, who lets connections know afterwards (`poll_wake`).
    pub fn sift(
        &mut self,
        socket: &mut Socket,
        settled: &mut Vec<Settled>,
        outputs: &mut Vec<SocketOutput>,
        clock: impl Fn() -> Timestamp,
    ) {
        loop {
            while let Some(output) = socket.poll_output() {
                self.note(socket, &output, &clock);
                outputs.push(output);
            }
            if !socket.has_settled() {
                return;
            }
            let first = settled.len();
            socket.take_settled(settled);
            if self.own_count > 0 || self.hello.is_some() {
                self.sift_settled(socket, settled, first);
            }
        }
    }

    /// Takes out what nobody waits for, and looks at the replies of a client's requests.
    fn sift_settled(&mut self, socket: &mut Socket, settled: &mut Vec<Settled>, first: usize) {
        let mut place = first;
        while let Some(one) = settled.get_mut(place) {
            match self.take_own(one.operation) {
                None => {
                    self.check_reply(socket, one);
                    place += 1;
                }
                Some(own) => {
                    // Order among results means nothing to their callers; removal keeps it all the same.
                    let Settled { operation, outcome } = settled.remove(place);
                    socket.collected(operation);
                    match own {
                        Own::Hello(set) => self.news.push(News::Answer { set, outcome }),
                        Own::Reply => self.failed_replies += u64::from(matches!(outcome, Outcome::Failed(_))),
                    }
                }
            }
        }
    }

    /// A reply that does not keep to the protocol ends its request and its connection (S-07, S-22).
    fn check_reply(&mut self, socket: &mut Socket, settled: &mut Settled) {
        let Outcome::Reply(record) = &settled.outcome else { return };
        if self.hello.is_none() || is_reply_to(record) || !breaks_protocol(record) {
            return;
        }
        if let Some(set) = socket.set_of(settled.operation) {
            socket.close_set(set, EndReason::Service(PROTOCOL_ERROR));
        }
        settled.outcome = Outcome::Failed(Failure {
            kind: ErrorKind::ProtocolError,
            submission: Submission::Unknown,
            reason: "malformed reply",
        });
    }

    fn note(&mut self, socket: &mut Socket, output: &SocketOutput, clock: &impl Fn() -> Timestamp) {
        match output {
            SocketOutput::PeerReady { set, routing_id, endpoint, .. } => {
                let (set, routing_id, endpoint) = (*set, routing_id.clone(), *endpoint);
                self.news.push(News::Ready { set, routing_id, endpoint });
                self.begin_admission(socket, set, clock());
            }
            SocketOutput::PeerLost { set } => self.news.push(News::Lost { set: *set }),
            SocketOutput::Drained(set) => self.news.push(News::Drained { set: *set }),
            SocketOutput::ProbeDue(set) => {
                if let Some(id) = socket.probe_id(*set) {
                    fill(socket, *set, Slot::Probe, Command::LivenessProbe, id);
                }
            }
            SocketOutput::Connect { .. }
            | SocketOutput::Abandon(_)
            | SocketOutput::StopListening(_)
            | SocketOutput::Closed => {}
        }
    }

    /// A client introduces itself on each new set; both sides wait for the other within the limit (S-31).
    fn begin_admission(&mut self, socket: &mut Socket, set: SetId, now: Timestamp) {
        socket.start_admission(set, now);
        let Some(hello) = &self.hello else { return };
        if self.is_sealed {
            return socket.close_set(set, EndReason::Disconnected);
        }
        match socket.request(Target::Admission(set), &mut hello.as_slice(), Some(LONGEST), now) {
            Ok(operation) => self.note_own(operation, Own::Hello(set)),
            Err(_) => socket.close_set(set, EndReason::Service("hello refused")),
        }
    }

    pub(super) fn push_news(&mut self, news: News) {
        self.news.push(news);
    }

    /// True if the host's side has something to hear: [`HostSide::mark`](super::HostSide::mark) it.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    pub(super) fn take_news(&mut self, into: &mut Vec<News>) {
        into.append(&mut self.news);
    }

    /// Panics if a count does not match. For tests.
    pub fn check_invariants(&self) {
        assert_eq!(self.own.iter().flatten().count(), self.own_count as usize, "own operations are counted");
    }
}

/// True if the sender of this reply does not keep to the protocol.
fn breaks_protocol(record: &Record) -> bool {
    decode(record, Some(Sender::Server)).is_err_and(|fault| fault.scope == Scope::Connection)
        || decode(record, None).is_ok_and(|service| service.content.command() != Command::Reply)
}

/// Puts a probe or an ack into its slot.
pub(super) fn fill(socket: &mut Socket, set: SetId, slot: Slot, command: Command, id: u64) {
    // A set that ended meanwhile needs none.
    let _: Result<(), Failure> = socket.fill_slot(set, slot, &mut encode_liveness(command, id).as_slice());
}

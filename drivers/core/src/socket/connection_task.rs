//! One task per connection: it alone touches the stream, owns the machine of the connection, and does reading, writing and
//! its timer in one poll function with one waker. There is no cancellation point inside.

use super::shared::{After, Shared};
use crate::alarm::Alarm;
use crate::runtime::{Runtime, Stream};
use crate::sync::note_waker;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{Connection, ConnectionIo};

/// Pieces of one vectored write: a batch of 256 KiB has no more unless it is full of middle-sized payloads.
const SLICES_MAX: usize = 64;
/// Bytes that are written before other tasks get their turn.
const WRITE_BYTES_MAX: usize = 524_288;
/// Wake-ups with bytes until a connection counts as busy: a handshake and some messages more.
const BUSY_WAKES: u32 = 16;
/// A busy connection on which nothing happened for so long gives its buffers back; at most twice as long after the last byte.
const QUIET_AFTER: Duration = Duration::from_millis(200);

pub(super) struct ConnectionTask<R: Runtime> {
    shared: Arc<Shared<R>>,
    stream: R::Stream,
    connection: Connection,
    alarm: Alarm<R>,
    after: After,
    waker: Option<Waker>,
    /// Time of this wake-up: the clock is read once for each.
    now: Timestamp,
    /// When to look whether this connection is quiet; none: its buffers were given back.
    quiet_check: Option<Timestamp>,
    /// Something happened since the last rest.
    is_busy: bool,
    /// Rests since the last check that something had happened before.
    heat: u32,
    /// The socket does not know the waker yet.
    is_waker_new: bool,
    /// The sending side of the stream was ended (N-89).
    is_shut_down: bool,
    /// The machine was told of the end of input.
    is_read_over: bool,
    /// The connection closed in order; nothing is left to tell.
    is_over: bool,
}

/// What reading led to.
#[derive(PartialEq, Eq)]
enum Read {
    /// Nothing is there; the task is woken when there is.
    Waits,
    /// Reading is stopped or over; nothing wakes for it.
    Stopped,
    /// Bytes came, and the budget of this wake-up is not used up.
    Some,
    /// Bytes came, and more may be there: others first.
    TurnOver,
}

impl<R: Runtime> ConnectionTask<R> {
    pub(super) fn spawn(shared: Arc<Shared<R>>, stream: R::Stream, connection: Connection) {
        let runtime = shared.runtime.clone();
        runtime.spawn(Self {
            shared,
            stream,
            connection,
            alarm: Alarm::new(),
            after: After::new(),
            waker: None,
            now: Timestamp::ZERO,
            quiet_check: None,
            is_busy: false,
            heat: 0,
            is_waker_new: false,
            is_shut_down: false,
            is_read_over: false,
            is_over: false,
        });
    }

    /// The only section of this task: what was read, written and decided meets the socket.
    fn exchange(&mut self) {
        let (connection, now) = (&mut self.connection, self.now);
        let waker = self.waker.as_ref().filter(|_| std::mem::take(&mut self.is_waker_new));
        self.shared.section_with(&mut self.after, |locked| {
            if let Some(waker) = waker {
                locked.connections.insert(connection.number().0, waker.clone());
            }
            connection.exchange(&mut locked.socket, now);
            locked.unflushed = 0;
        });
    }

    fn read(&mut self, context: &mut Context<'_>) -> Read {
        if self.is_read_over {
            return Read::Stopped;
        }
        if self.stream.poll_read_ready(context).is_pending() {
            return Read::Waits;
        }
        let space = self.connection.receive_space();
        let length = space.len();
        if length == 0 {
            return Read::Stopped;
        }
        match self.stream.poll_read(context, space) {
            Poll::Pending => Read::Waits,
            Poll::Ready(Ok(count)) if count > 0 => {
                self.is_busy = true;
                self.connection.received(count, self.now);
                if count < length { Read::Some } else { Read::TurnOver }
            }
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => Read::TurnOver,
            Poll::Ready(end) => {
                self.is_read_over = true;
                self.connection.handle_end(end.is_err(), self.now);
                Read::Stopped
            }
        }
    }

    /// Writes until nothing is left or the stream takes no more. True: more can be written after others had their turn.
    fn write(&mut self, context: &mut Context<'_>) -> bool {
        let mut written = 0;
        loop {
            match self.write_once(context) {
                Some(count) => written += count,
                None => return false,
            }
            // The batch is written: its charges end and the next one comes (B-15).
            if self.connection.needs_exchange() {
                self.exchange();
            }
            if written >= WRITE_BYTES_MAX {
                return true;
            }
        }
    }

    /// Writes once. None: nothing to write, or the stream waits.
    fn write_once(&mut self, context: &mut Context<'_>) -> Option<usize> {
        let mut pieces = [&[][..]; SLICES_MAX];
        let count = self.connection.transmit(&mut pieces);
        if count == 0 {
            return None;
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        slices.iter_mut().zip(&pieces).take(count).for_each(|(slice, piece)| *slice = IoSlice::new(piece));
        match self.stream.poll_write_vectored(context, slices.get(..count)?) {
            Poll::Pending => None,
            Poll::Ready(Ok(taken)) if taken > 0 => {
                self.is_busy = true;
                self.connection.transmitted(taken, self.now);
                Some(taken)
            }
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => Some(0),
            Poll::Ready(_) => {
                self.is_read_over = true;
                self.connection.handle_end(true, self.now);
                self.exchange();
                None
            }
        }
    }

    /// Ends the sending side once everything is written; what still comes is read and dropped (N-89).
    fn finish(&mut self, context: &mut Context<'_>) {
        if !self.is_shut_down && self.stream.poll_shutdown(context).is_ready() {
            self.is_shut_down = true;
        }
    }

    /// One wake-up: at most one full read and all its records, then others (B-57).
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.now = self.shared.runtime.now();
        self.is_waker_new |= note_waker(&mut self.waker, context.waker());
        if self.alarm.poll(context) {
            self.connection.handle_timeout(self.now);
        }
        let mut read = self.read(context);
        self.exchange();
        let mut is_turn_over = self.write(context);
        if read == Read::Some && !self.connection.needs_exchange() {
            // What was there is taken: wait for more, or take it if it is there already.
            read = self.read(context);
            if read == Read::Some {
                read = Read::TurnOver;
            }
            if self.connection.needs_exchange() {
                self.exchange();
                is_turn_over |= self.write(context);
            }
        }
        if self.connection.io() == ConnectionIo::Close {
            return self.close(context);
        }
        if self.connection.io() == ConnectionIo::Finish {
            self.finish(context);
        }
        // Reading that was stopped and may go on, or records that wait in the read buffer.
        is_turn_over |= read == Read::Some || read == Read::TurnOver || self.connection.needs_exchange();
        if read == Read::Stopped && !self.is_read_over && !self.connection.receive_space().is_empty() {
            is_turn_over = true;
        }
        if is_turn_over {
            context.waker().wake_by_ref();
        } else {
            self.rest(context);
        }
        Poll::Pending
    }

    /// Before sleeping: the timer is set, and a quiet connection holds no buffers.
    fn rest(&mut self, context: &mut Context<'_>) {
        self.look_for_quiet();
        let due = [self.connection.poll_timeout(), self.quiet_check].into_iter().flatten().min();
        self.alarm.arm(&self.shared.runtime, due);
        if self.alarm.poll(context) {
            context.waker().wake_by_ref();
        } else {
            self.alarm.release();
        }
    }

    /// Where messages follow each other, buffers are kept from one to the next and given back when none follows. Elsewhere they
    /// are given back at once, so that thousands of rarely used connections share the same memory one after the other.
    fn look_for_quiet(&mut self) {
        if std::mem::take(&mut self.is_busy) {
            self.heat = self.heat.saturating_add(1);
        }
        match self.quiet_check {
            None if self.heat >= BUSY_WAKES => {
                self.quiet_check = Some(self.now.saturating_add(QUIET_AFTER));
            }
            None => self.release(),
            Some(check) if check > self.now => {}
            Some(_) if self.heat > 0 => {
                self.heat = 0;
                self.quiet_check = Some(self.now.saturating_add(QUIET_AFTER));
            }
            Some(_) => {
                self.quiet_check = None;
                self.release();
            }
        }
    }

    fn release(&mut self) {
        self.connection.release_buffers();
        self.after.release();
    }

    /// W-20: what is left is told, one attempt to write without waiting, then the stream is dropped.
    fn close(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.connection.needs_exchange() {
            self.exchange();
        }
        let wrote = self.write_once(context).is_some();
        if wrote {
            let _ = self.stream.poll_shutdown(context);
            self.discard(context);
        }
        self.is_over = true;
        let number = self.connection.number();
        self.shared.section(|locked| locked.connections.remove(&number.0));
        Poll::Ready(())
    }

    /// Unread input would turn the close into a reset, and the peer would lose the ERROR: what is there already is dropped.
    fn discard(&mut self, context: &mut Context<'_>) {
        let mut sink = [0; 4_096];
        for _ in 0..16 {
            match self.stream.poll_read(context, &mut sink) {
                Poll::Ready(Ok(count)) if count > 0 => {}
                Poll::Ready(_) | Poll::Pending => break,
            }
        }
    }
}

impl<R: Runtime> Future for ConnectionTask<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().turn(context)
    }
}

/// The executor ended before the connection: for the socket it is reset, so that nobody waits for it.
impl<R: Runtime> Drop for ConnectionTask<R> {
    fn drop(&mut self) {
        if !self.is_over {
            self.now = self.shared.runtime.now();
            self.connection.handle_end(true, self.now);
            self.exchange();
            let number = self.connection.number();
            self.shared.section(|locked| locked.connections.remove(&number.0));
        }
    }
}

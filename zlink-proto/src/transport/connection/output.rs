//! The writing side: HELLO and READY, then batches of records, or one last ERROR.

use crate::wire::Outbox;

/// What is to be written, and how much of it was.
#[derive(Debug)]
pub(super) struct Output {
    outbox: Outbox,
    hello_bytes: usize,
    /// 0 until READY is queued.
    ready_bytes: usize,
    /// Bytes of HELLO and READY that were written.
    greeting_written: usize,
    /// Bytes of batches that were written since the socket was last told.
    untold: usize,
    /// Nothing but an ERROR is left, if anything.
    is_discarded: bool,
    is_error_begun: bool,
}

impl Output {
    /// HELLO is written at once (W-26).
    pub(super) fn new(hello: &[u8]) -> Self {
        let mut outbox = Outbox::default();
        outbox.push_raw(hello);
        Self {
            outbox,
            hello_bytes: hello.len(),
            ready_bytes: 0,
            greeting_written: 0,
            untold: 0,
            is_discarded: false,
            is_error_begun: false,
        }
    }

    pub(super) fn has_ready(&self) -> bool {
        self.ready_bytes > 0
    }

    pub(super) fn push_ready(&mut self, ready: &[u8]) {
        self.outbox.push_raw(ready);
        self.ready_bytes = ready.len();
    }

    /// True if our READY is completely transmitted (W-35).
    pub(super) fn is_ready_written(&self) -> bool {
        self.has_ready() && self.greeting_left() == 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Where the socket puts the next batch.
    pub(super) fn batch(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    pub(super) fn slices<'a>(&'a self, slices: &mut [&'a [u8]]) -> usize {
        self.outbox.slices(slices)
    }

    /// `count` bytes were written. True if that completed READY.
    #[must_use]
    pub(super) fn advance(&mut self, count: usize) -> bool {
        let count = count.min(self.outbox.len());
        self.outbox.advance(count);
        if self.is_discarded {
            // An ERROR frame: nobody counts it.
            self.is_error_begun = true;
            return false;
        }
        let greeting = count.min(self.greeting_left());
        self.greeting_written += greeting;
        self.untold += count - greeting;
        greeting > 0 && self.is_ready_written()
    }

    /// Bytes of batches that the socket does not know of yet.
    pub(super) fn untold(&self) -> usize {
        self.untold
    }

    pub(super) fn take_untold(&mut self) -> usize {
        core::mem::take(&mut self.untold)
    }

    /// Drops everything that is not written. `error`, if any, goes behind what was transmitted, unless that ends inside a frame (W-20).
    pub(super) fn end_with(&mut self, error: &[u8]) {
        let is_at_border = self.is_at_border();
        self.outbox = Outbox::default();
        self.is_discarded = true;
        if is_at_border && !error.is_empty() {
            self.outbox.push_raw(error);
        }
    }

    /// Another reason for the same end, if the ERROR is there and nothing of it was written.
    pub(super) fn replace_error(&mut self, error: &[u8]) {
        if self.is_discarded && !self.is_error_begun && !self.outbox.is_empty() {
            self.outbox = Outbox::default();
            self.outbox.push_raw(error);
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.outbox.memory()
    }

    pub(super) fn release_buffers(&mut self) {
        if self.outbox.is_empty() {
            self.outbox.shrink();
        }
    }

    fn greeting_left(&self) -> usize {
        (self.hello_bytes + self.ready_bytes).saturating_sub(self.greeting_written)
    }

    /// True if what was transmitted ends with a whole frame. Between the parts of a record counts as inside: no control
    /// may stand there (W-46).
    fn is_at_border(&self) -> bool {
        if self.greeting_left() > 0 {
            self.greeting_written == 0 || self.greeting_written == self.hello_bytes
        } else {
            self.outbox.is_empty() || self.outbox.is_at_record_border()
        }
    }
}

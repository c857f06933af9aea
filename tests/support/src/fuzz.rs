//! Bodies of the fuzz targets. Ordinary tests run them over pseudo-random input, so that they stay alive.

mod program;
mod queue;

use queue::ModelQueue;
use zlink_proto::id::RoutingId;
use zlink_proto::wire::{Decoded, Decoder, Event, Fault, Hello, SocketType};

/// Memory of a decoder beyond what it was fed: two chunks, and what may be obtained ahead for a body (W-15, B-52).
const MEMORY_BYTES_MAX: usize = 3 * 65_536;

/// Decodes bytes whole, byte by byte, in uneven pieces, event by event, in batches and against a bounded queue. All of it
/// gives the same events and the same end (W-03); nothing panics; memory grows with the bytes only (W-15).
///
/// The first six bytes choose types, phase, lane, limit and the input's form: as it is, or a program that writes frames.
pub fn decoder(data: &[u8]) {
    let Some((setup, rest)) = data.split_first_chunk::<6>() else { return };
    let setup = Setup::read(*setup);
    let bytes = if setup.is_program { program::write(rest, setup.is_open) } else { rest.to_vec() };
    let expected = setup.run(&bytes, usize::MAX, Mode::Single);
    for (piece, mode) in [
        (1, Mode::Single),
        (usize::MAX, Mode::Batch),
        (1, Mode::Batch),
        (7, Mode::Batch),
        (1_000, Mode::Batch),
        (40_000, Mode::Batch),
        (usize::MAX, Mode::Queue),
        (3, Mode::Queue),
        (5_000, Mode::Queue),
    ] {
        // Byte by byte is for short inputs: the same code runs for long ones.
        if bytes.len() / piece <= 20_000 {
            assert_eq!(setup.run(&bytes, piece, mode), expected, "pieces of {piece}, {mode:?}");
        }
    }
}

/// Events, and how it ended: a fault, or whether a frame is begun.
type Transcript = (Vec<Event>, Result<bool, Fault>);

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Event by event.
    Single,
    /// Records in batches.
    Batch,
    /// As `Batch`, against a queue with a limit.
    Queue,
}

struct Setup {
    local: SocketType,
    hello: Hello,
    is_greeted: bool,
    is_open: bool,
    is_program: bool,
    lane: u8,
    message_bytes_max: u64,
    hwm: u64,
}

impl Setup {
    fn read([types, phase, lane, max, hwm, form]: [u8; 6]) -> Self {
        use SocketType::{Dealer, Pair, Pub, Router, Sub, XPub, XSub};
        let (local, peer) = match types % 8 {
            0 => (Dealer, Dealer),
            1 => (Dealer, Router),
            2 | 3 => (Router, Dealer),
            4 => (Router, Router),
            5 => (Pub, XSub),
            6 => (if types & 8 == 0 { XPub } else { XSub }, if types & 8 == 0 { Sub } else { Pub }),
            _ => (Pair, Pair),
        };
        let routing_id = RoutingId::new(b"peer".to_vec()).unwrap_or_default();
        let limits = [0, 1, 100, 5_000, 70_000, 16_777_216];
        let hwms = [1, 64, 1_000, 20_000, 1_000_000];
        Self {
            local,
            hello: Hello { socket_type: peer, routing_id },
            is_greeted: phase % 4 != 0,
            is_open: phase % 4 > 1,
            is_program: form % 4 != 0,
            lane: lane % 2,
            message_bytes_max: limits[usize::from(max) % limits.len()],
            hwm: hwms[usize::from(hwm) % hwms.len()],
        }
    }

    fn decoder(&self) -> Decoder {
        let (local, lane, max) = (self.local, self.lane, self.message_bytes_max);
        if self.is_open {
            Decoder::after_ready(local, lane, max, self.hello.clone())
        } else if self.is_greeted {
            Decoder::after_hello(local, lane, max, self.hello.clone())
        } else {
            Decoder::new(local, lane, max)
        }
    }

    fn run(&self, bytes: &[u8], piece: usize, mode: Mode) -> Transcript {
        let hwm = if matches!(mode, Mode::Queue) { self.hwm } else { 0 };
        let mut run = Run { decoder: self.decoder(), queue: ModelQueue::new(hwm), mode, events: Vec::new() };
        let end = run.feed(bytes, piece).map(|()| run.decoder.is_inside());
        run.queue.finish(end.is_ok().then_some(run.decoder.provisional()));
        (run.events, end)
    }
}

struct Run {
    decoder: Decoder,
    queue: ModelQueue,
    mode: Mode,
    events: Vec<Event>,
}

impl Run {
    fn feed(&mut self, bytes: &[u8], piece: usize) -> Result<(), Fault> {
        let mut fed = 0;
        for mut input in bytes.chunks(piece.min(bytes.len().max(1))) {
            while !input.is_empty() {
                let space = self.decoder.space();
                assert!(!space.is_empty(), "everything at hand was decoded");
                let count = space.len().min(input.len());
                space[..count].copy_from_slice(&input[..count]);
                self.decoder.filled(count);
                input = &input[count..];
                fed += count;
                self.drain()?;
                let memory = self.decoder.memory();
                assert!(memory <= MEMORY_BYTES_MAX + 2 * fed, "{memory} bytes held after {fed}");
                if self.decoder.frames_seen() % 5 == 0 {
                    self.decoder.release_buffer();
                }
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Fault> {
        let mut allowance = self.queue.allowance();
        loop {
            let mut records = Vec::new();
            let decoded = match self.mode {
                Mode::Single => self.decoder.decode(&mut allowance),
                Mode::Batch | Mode::Queue => self.decoder.decode_records(&mut allowance, &mut records),
            };
            self.decoder.check_invariants();
            for record in records {
                self.queue.push(record.charge());
                self.events.push(Event::Record(record));
            }
            match decoded? {
                Decoded::Event(event) => {
                    if let Event::Record(record) = &event {
                        self.queue.push(record.charge());
                    }
                    self.events.push(event);
                }
                Decoded::Held => self.decoder.open(),
                Decoded::Blocked { charge, is_first } => {
                    let provisional = self.decoder.provisional();
                    assert_eq!(is_first, provisional == 0);
                    self.queue.refused(charge, provisional);
                    allowance = self.queue.allowance();
                }
                Decoded::NeedMore => {
                    self.queue.set_provisional(self.decoder.provisional());
                    return Ok(());
                }
            }
        }
    }
}

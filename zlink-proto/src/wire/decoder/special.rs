//! CONTROL, IDENTITY, SUBSCRIBE and CANCEL frames (W-25 rows 10 to 36).

use super::scan::{Frame, Phase};
use super::{Decoded, Decoder, Dropped, Event};
use crate::wire::control::{
    HELLO_BYTES_MAX, TYPE_ERROR, TYPE_HELLO, TYPE_READY, decode_error, decode_flow, decode_hello,
    decode_ready, decode_weight, is_flow, is_weight,
};
use crate::wire::frame::{CANCEL, CONTROL, HEADER_BYTES, IDENTITY, SPECIAL_BYTES_MAX, SUBSCRIBE};
use crate::wire::{Fault, FaultCode, Hello};
use bytes::Bytes;

impl Decoder {
    /// Handles the special frame at the start of the buffer, whose header was checked.
    pub(super) fn special(&mut self, frame: &Frame) -> Result<Decoded, Fault> {
        if self.scanner.phase == Phase::Hello && frame.size > HELLO_BYTES_MAX {
            return Err(self.fail(Fault { code: FaultCode::BodyTooLarge, reason: "hello too large" }));
        }
        if frame.size as usize > SPECIAL_BYTES_MAX {
            return Err(self.fail(Fault::standard(FaultCode::BodyTooLarge)));
        }
        let end = HEADER_BYTES + frame.size as usize;
        let Some(body) = self.buffer.bytes().get(HEADER_BYTES..end) else { return Ok(Decoded::NeedMore) };
        let event = if frame.flags & CONTROL == 0 {
            Ok(other_special(frame.flags, body))
        } else {
            match self.scanner.phase {
                Phase::Hello => self.control_before_hello(body),
                Phase::Ready => self.control_before_ready(body),
                Phase::Held | Phase::Open | Phase::Closed => self.control_when_open(body),
            }
        };
        let event = event.map_err(|fault| self.fail(fault))?;
        self.buffer.skip(end);
        self.frames_seen += 1;
        match &event {
            Event::Hello(hello) => self.accept_hello(hello.clone()),
            Event::Ready(ready) => {
                let lane = ready.lanes.map_or(self.lane, |(_, lane)| lane);
                self.accept_ready(lane);
            }
            Event::Error(_) => {
                self.scanner.phase = Phase::Closed;
                self.buffer.skip(self.buffer.len());
            }
            Event::Record(_)
            | Event::Weight(_)
            | Event::Flow(_)
            | Event::Subscribe(_)
            | Event::Cancel(_)
            | Event::Dropped(_) => {}
        }
        Ok(Decoded::Event(event))
    }

    /// While bytes behind READY wait: an ERROR that is next (W-36).
    pub(super) fn peek_error(&mut self) -> Option<Event> {
        let error = {
            let frame = self.scanner.inspect(self.buffer.bytes()).ok().flatten()?;
            let end = HEADER_BYTES.checked_add(frame.size as usize)?;
            let body = self.buffer.bytes().get(HEADER_BYTES..end)?;
            if frame.flags != CONTROL || body.first() != Some(&TYPE_ERROR) {
                return None;
            }
            decode_error(body)
        };
        self.frames_seen += 1;
        self.buffer.skip(self.buffer.len());
        self.scanner.phase = Phase::Closed;
        Some(Event::Error(error))
    }

    pub(super) fn accept_hello(&mut self, hello: Hello) {
        self.scanner.set_kinds(self.local, hello.socket_type, self.lane);
        self.scanner.phase = Phase::Ready;
        self.hello = Some(hello);
    }

    /// The acceptor of a second connection learns its lane from READY.
    pub(super) fn accept_ready(&mut self, lane: u8) {
        self.lane = lane;
        if let Some(hello) = &self.hello {
            self.scanner.set_kinds(self.local, hello.socket_type, lane);
        }
        self.scanner.phase = Phase::Held;
    }

    /// Rows 14 to 18.
    fn control_before_hello(&self, body: &[u8]) -> Result<Event, Fault> {
        match body.first() {
            None => Err(Fault::other("hello too short")),
            Some(&TYPE_HELLO) => decode_hello(self.local, body).map(Event::Hello),
            Some(&TYPE_ERROR) => Ok(Event::Error(decode_error(body))),
            Some(_) => Err(Fault::other("missing hello")),
        }
    }

    /// Rows 21 to 27.
    fn control_before_ready(&self, body: &[u8]) -> Result<Event, Fault> {
        match (body.first(), &self.hello) {
            (None, _) => Err(Fault::other("invalid control")),
            (Some(&TYPE_READY), Some(hello)) => decode_ready(self.local, hello, body).map(Event::Ready),
            (Some(&TYPE_ERROR), _) => Ok(Event::Error(decode_error(body))),
            (Some(_), _) => Err(Fault::other("unknown control")),
        }
    }

    /// Rows 21 and 31 to 34.
    fn control_when_open(&self, body: &[u8]) -> Result<Event, Fault> {
        match body.first() {
            None => return Err(Fault::other("invalid control")),
            Some(&TYPE_READY) => return Err(Fault::other("duplicate ready")),
            Some(&TYPE_ERROR) => return Ok(Event::Error(decode_error(body))),
            Some(_) => {}
        }
        Ok(if is_weight(body) {
            // W-40: lane 0 of DEALER and ROUTER.
            let weight = decode_weight(body).filter(|_| self.local.has_lanes() && self.lane == 0);
            weight.map_or(Event::Dropped(Dropped::Weight), Event::Weight)
        } else if is_flow(body) {
            let flow = decode_flow(body).filter(|_| self.local.has_lanes() && self.lane == self.flow_lane());
            flow.map_or(Event::Dropped(Dropped::Flow), Event::Flow)
        } else {
            Event::Dropped(Dropped::Control)
        })
    }

    /// W-42: the completion lane if there is one.
    fn flow_lane(&self) -> u8 {
        let count = self.hello.as_ref().map_or(1, |hello| self.local.lane_count(hello.socket_type));
        count.saturating_sub(1)
    }
}

/// SUBSCRIBE, CANCEL and IDENTITY. `flags` are legal and without CONTROL.
fn other_special(flags: u8, body: &[u8]) -> Event {
    match flags {
        SUBSCRIBE => Event::Subscribe(Bytes::copy_from_slice(body)),
        CANCEL => Event::Cancel(Bytes::copy_from_slice(body)),
        _ => {
            debug_assert!(flags & IDENTITY != 0, "IDENTITY is the only other special flag");
            Event::Dropped(Dropped::Identity)
        }
    }
}

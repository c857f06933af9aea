//! Reservations: room for a record before the record is there (O-35).

use super::submit::{BAD_TIMEOUT, Measured, Test};
use super::waiting::{Destination, Waiting};
use super::{Refused, Reservation, Socket, Target};
use crate::error::{ErrorKind, Failure};
use crate::id::{OperationId, SetId};
use crate::message::Outgoing;
use crate::time::{Timestamp, round_timeout};
use crate::transport::deadlines::NONE;
use crate::transport::operations::{Family, Place};
use crate::wire::{Kind, charge};
use core::time::Duration;

/// A part of so many bytes, as far as sizes are concerned.
struct Sized(u64);

impl Socket {
    /// Books room for a record of `bytes` payload bytes in one part; for each further part add `PART_CHARGE`. The target is fixed; the booked charge counts as a record in its
    /// queue. Granted, it lives for one send timeout more; a wait ends as a `Settled`.
    ///
    /// # Errors
    /// As `send`.
    pub fn reserve(
        &mut self,
        target: Target<'_>,
        bytes: u64,
        timeout: Option<Duration>,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<Reservation, Refused> {
        let timeout = match timeout {
            Some(timeout) => round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?.min(self.options.send_timeout),
            None => self.options.send_timeout,
        };
        // A reservation always has a deadline: it reads the clock.
        self.advance(clock());
        let measured = self.measure_size(&Sized(bytes))?;
        let destination = self.choose_destination(target, measured)?;
        let mut was_tested = false;
        if let Destination::Set(slot) = destination {
            match self.reserve_at_once(slot, measured) {
                Test::Admitted => {
                    let operation = self.grant(slot, measured);
                    return Ok(Reservation { operation, is_granted: true });
                }
                Test::Refused => was_tested = true,
                Test::Blocked => {}
            }
        }
        let waiting = Waiting {
            family: Family::Reservation,
            sequence: 0,
            measured,
            passes_pause: false,
            was_tested,
            timeout,
            token: NONE,
        };
        let nothing: &[u8] = &[];
        let slot = self.wait_for_room(waiting, destination, &nothing)?;
        Ok(Reservation { operation: self.operations.id(slot), is_granted: false })
    }

    fn measure_size(&self, size: &Sized) -> Result<Measured, Failure> {
        let max = self.options.max_message_size;
        if size.0 > u64::from(u32::MAX) || (max != 0 && size.0 > max) {
            return Err(super::submit::TOO_LARGE);
        }
        Ok(Measured { bytes: size.0, charge: charge(size.0, 1) })
    }

    fn reserve_at_once(&mut self, slot: u32, measured: Measured) -> Test {
        let set = self.sets.at_mut(slot);
        if !set.blockers.is_clear() || !set.has_no_line() {
            Test::Blocked
        } else if set.send.meter.admit_reservation(measured.charge, true) {
            Test::Admitted
        } else {
            Test::Refused
        }
    }

    fn grant(&mut self, slot: u32, measured: Measured) -> OperationId {
        let timeout = self.options.send_timeout;
        let operation =
            self.operations.insert(Family::Reservation, self.now, self.now.saturating_add(timeout));
        self.deadlines.arm(&mut self.operations, operation, self.now, timeout);
        let set = self.sets.at_mut(slot);
        let entry = &mut self.operations[operation];
        entry.place = Place::Reserved;
        entry.set = set.id;
        entry.charge = measured.charge;
        entry.bytes = measured.bytes;
        self.operations.push_back(&mut set.reservations, operation);
        self.operations.id(operation)
    }

    /// Sends with a reservation, which ends. Surplus room returns; a larger record needs the extra room at once.
    ///
    /// # Errors
    /// `Full`: the extra room is not there, the reservation stays. `Failed` with `Unavailable`: the reservation had ended.
    pub fn send_reserved<M: Outgoing>(
        &mut self,
        reservation: OperationId,
        record: &mut M,
        now: Timestamp,
    ) -> Result<(), Refused> {
        self.advance(now);
        let found = self.operations.find(reservation).map(|entry| (entry.place, entry.set, entry.charge));
        let Some((Place::Reserved, set, reserved)) = found else {
            self.collected(reservation);
            let failure = Failure::not_submitted(ErrorKind::Unavailable, "the reservation ended");
            return Err(failure.into());
        };
        let measured = self.measure(record)?;
        let found = self.sets.at_mut(set.slot);
        if measured.bytes > found.message_max {
            return Err(super::submit::TOO_LARGE.into());
        }
        let Some(may_serve) = found.send.meter.use_reservation(reserved, measured.charge) else {
            return Err(Refused::Full);
        };
        // The charge is the record's now: only the entry ends.
        self.deadlines.disarm(&mut self.operations, reservation.slot);
        self.operations.unlink(&mut found.reservations, reservation.slot);
        self.free_operation(reservation.slot);
        self.push_now(set.slot, Kind::Data, 0, record, measured.charge);
        if may_serve {
            self.serve(set.slot);
        }
        Ok(())
    }

    /// Gives a reservation back, whatever became of it.
    pub fn release_reservation(&mut self, reservation: OperationId, now: Timestamp) {
        self.advance(now);
        let found = self.operations.find(reservation).map(|entry| (entry.place, entry.set, entry.family));
        let Some((place, set, Family::Reservation)) = found else { return };
        self.withdraw(reservation.slot);
        self.free_operation(reservation.slot);
        self.serve_after(Some(place), set);
    }

    /// Takes the room of a reservation back (called while its entry is withdrawn).
    pub(super) fn withdraw_reservation(&mut self, slot: u32, set: SetId, reserved: u64) {
        if let Some(set) = self.sets.get_mut(set) {
            self.operations.unlink(&mut set.reservations, slot);
            // The caller serves the line: a decrease is one more attempt for its head.
            let _ = set.send.meter.end_reservation(reserved);
        }
    }
}

//! Sources that wait for room at an owner (H-88). They hold no permit and no record.

use super::Host;
use super::members::{MemberState, Parking};
use super::owners::OwnerId;
use crate::time::Timestamp;

impl<T> Host<T> {
    /// Parks the source that is being served; one that is parked there keeps its place.
    pub(super) fn park(&mut self, member: u32, owner: OwnerId, cost: u64, now: Timestamp) {
        if let Some(parking) = &mut self.members.get_mut(member).parking {
            if parking.owner == owner {
                parking.is_woken = false;
                parking.cost = cost;
                return;
            }
            self.unpark(member, now);
        }
        let Some(entry) = self.owners.get_mut(owner) else { return };
        entry.parked.push(self.members.as_mut_slice(), member);
        self.members.get_mut(member).parking = Some(Parking { owner, cost, is_woken: false, since: now });
        self.counters.owner_waits = self.counters.owner_waits.saturating_add(1);
        self.parked += 1;
    }

    /// Its record has its room now, or the source ended: it leaves the FIFO and the next one may come.
    #[inline]
    pub(super) fn unpark(&mut self, member: u32, now: Timestamp) {
        let Some(parking) = self.members.get_mut(member).parking.take() else { return };
        self.parked -= 1;
        if let Some(owner) = self.owners.get_mut(parking.owner) {
            owner.parked.remove(self.members.as_mut_slice(), member);
        }
        self.wake_parked(parking.owner, now);
    }

    /// There may be room: wakes the oldest parked source if its head record fits.
    #[inline]
    pub(super) fn wake_parked(&mut self, owner: OwnerId, now: Timestamp) {
        let Some(entry) = self.owners.get_mut(owner) else { return };
        let Some(first) = entry.parked.first() else { return };
        let member = self.members.get_mut(first);
        if let Some(parking) = &mut member.parking {
            if !parking.is_woken && entry.mailbox.fits(parking.cost) {
                parking.is_woken = true;
                if member.state == MemberState::Parked {
                    self.make_ready(first, now);
                }
            }
        }
    }

    /// The owner left Active: all of them go on, to be refused.
    pub(super) fn wake_all_parked(&mut self, owner: OwnerId, now: Timestamp) {
        loop {
            let Some(entry) = self.owners.get_mut(owner) else { return };
            let Some(member) = entry.parked.pop(self.members.as_mut_slice()) else { return };
            self.parked -= 1;
            let entry = self.members.get_mut(member);
            entry.parking = None;
            entry.again = true;
            if entry.state == MemberState::Parked {
                self.make_ready(member, now);
            }
        }
    }
}

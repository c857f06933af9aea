//! Bounds of one rotation (H-51).

use super::config::HostConfig;
use crate::time::Timestamp;

/// Records of one rotation, and of one turn (H-16, H-51).
pub const ROTATION_RECORDS_MAX: u32 = 64;

/// Records that may be taken between two looks at the time (H-51).
pub const ROTATION_RECORDS_PER_LOOK: usize = 16;

/// One wake-up's worth of receiving: ended by records, bytes or time, whichever comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) records_left: u32,
    /// In transport charges. The record that uses it up is still taken.
    pub(super) bytes_left: u64,
    pub(super) deadline: Timestamp,
}

impl Rotation {
    pub(super) fn begin(config: &HostConfig, now: Timestamp) -> Self {
        let options = config.options();
        Self {
            records_left: ROTATION_RECORDS_MAX,
            bytes_left: options.rotation_bytes_max,
            deadline: now.saturating_add(options.rotation_time_max),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.records_left == 0 || self.bytes_left == 0
    }

    pub(super) fn spend(&mut self, records: u32, bytes: u64) {
        self.records_left = self.records_left.saturating_sub(records);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// Looks at the time when a member's batch ends.
    pub(super) fn look_at(&mut self, now: Timestamp) {
        if now >= self.deadline {
            self.records_left = 0;
        }
    }
}

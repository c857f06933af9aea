//! Profiles and the effective processor count (H-03 to H-05).

use core::fmt;

/// How many bytes the transport plans with (B-41). A type of its own: equal labels of [`JobQueueProfile`] mean nothing
/// here (H-03).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CoreHwmProfile {
    /// Least memory.
    Compact,
    /// Short queues.
    LowLatency,
    /// The default.
    #[default]
    Balanced,
    /// Long queues.
    Throughput,
}

/// How many jobs a processor may have accepted and not started (H-05).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum JobQueueProfile {
    /// 32 jobs a processor.
    Compact,
    /// 64.
    LowLatency,
    /// 128, the default.
    #[default]
    Balanced,
    /// 256.
    Throughput,
}

impl JobQueueProfile {
    /// Jobs a processor.
    pub const fn jobs_per_processor(self) -> u32 {
        match self {
            Self::Compact => 32,
            Self::LowLatency => 64,
            Self::Balanced => 128,
            Self::Throughput => 256,
        }
    }
}

impl fmt::Display for CoreHwmProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compact => "Compact",
            Self::LowLatency => "LowLatency",
            Self::Balanced => "Balanced",
            Self::Throughput => "Throughput",
        })
    }
}

impl fmt::Display for JobQueueProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compact => "Compact",
            Self::LowLatency => "LowLatency",
            Self::Balanced => "Balanced",
            Self::Throughput => "Throughput",
        })
    }
}

/// What a driver found out about processors. Absent, zero and negative values are ignored (H-04).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessorCandidates {
    /// Logical processors usable by the process.
    pub logical: Option<i64>,
    /// Size of the processor set of the process.
    pub processor_set: Option<i64>,
    /// Processor time per period, in one unit: (quota, period).
    pub quota: Option<(i64, i64)>,
    /// An explicitly configured number of executor threads.
    pub executor_threads: Option<i64>,
}

impl ProcessorCandidates {
    /// The smallest known value, at least 1; 1 if nothing is known (H-04).
    pub fn effective(&self) -> u64 {
        let quota = match self.quota {
            // Less than one processor counts as one.
            Some((quota, period)) if quota > 0 && period > 0 => Some((quota / period).max(1)),
            Some(_) | None => None,
        };
        [self.logical, self.processor_set, quota, self.executor_threads]
            .into_iter()
            .flatten()
            .filter_map(|count| u64::try_from(count).ok().filter(|&count| count > 0))
            .min()
            .unwrap_or(1)
    }
}

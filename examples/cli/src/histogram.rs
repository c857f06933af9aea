//! Percentiles of durations in fixed memory, to within one percent.

use std::time::Duration;

/// Buckets for each power of two.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();
const BUCKETS: usize = (64 - STEP_BITS as usize + 1) * STEPS as usize;

/// Counts of durations by nanoseconds: exact below 128, then 128 buckets for each power of two.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        self.counts[bucket(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))] += 1;
        self.total += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    /// The smallest value that at least this share of all does not exceed, in microseconds; `None` without values.
    pub(crate) fn percentile_us(&self, share: f64) -> Option<f64> {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some((highest(bucket) as f64 / 10.0).round() / 100.0);
            }
        }
        None
    }
}

fn bucket(nanos: u64) -> usize {
    let shift = (64 - nanos.leading_zeros()).saturating_sub(STEP_BITS + 1);
    // Below 2 × STEPS the shift is 0 and each value has its own bucket.
    (u64::from(shift) * STEPS + (nanos >> shift)) as usize
}

fn highest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    let value = bucket - shift * STEPS;
    ((value + 1) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_within_a_percent() {
        let mut values: Vec<u64> = (0..1_000).collect();
        values.extend((10..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]));
        values.push(u64::MAX);
        let mut before = 0;
        for value in values {
            let place = bucket(value);
            assert!(place < BUCKETS && place >= before, "{value}");
            before = place;
            let top = highest(place);
            assert!(top >= value && (top - value) as f64 <= value as f64 / 100.0, "{value} in {top}");
        }
    }

    #[test]
    fn percentiles_of_a_known_set() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile_us(0.5), None);
        for micros in 1..=100 {
            histogram.record(Duration::from_micros(micros));
        }
        let near = |share, expected: f64| {
            let value = histogram.percentile_us(share).unwrap_or_default();
            assert!((value - expected).abs() <= expected / 100.0, "{share}: {value}");
        };
        near(0.5, 50.0);
        near(0.99, 99.0);
        near(1.0, 100.0);
    }
}

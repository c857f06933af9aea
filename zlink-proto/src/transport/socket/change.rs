//! Options that may change while the socket lives (N-92, B-20 to B-22, O-10).

use super::Socket;
use super::submit::BAD_TIMEOUT;
use crate::error::{ErrorKind, Failure};
use crate::time::round_timeout;
use crate::transport::HWM_DEFAULT;
use core::time::Duration;

const BAD_HWM: Failure = Failure::not_submitted(ErrorKind::InvalidOperation, "an HWM is 0 to 2^63-1 bytes");

/// B-34.
fn check_hwm(hwm: Option<u64>) -> Result<u64, Failure> {
    let bytes = hwm.unwrap_or(HWM_DEFAULT);
    if bytes > i64::MAX as u64 { Err(BAD_HWM) } else { Ok(bytes) }
}

impl Socket {
    /// Changes the sending limit of every peer, at once where the queue holds no more than that, else when it does (B-21). None is
    /// `HWM_DEFAULT`, 0 is unlimited. Nothing that was admitted is removed.
    ///
    /// # Errors
    /// `InvalidOperation` above 2^63-1; the old value stays.
    pub fn set_send_hwm(&mut self, hwm: Option<u64>) -> Result<(), Failure> {
        let bytes = check_hwm(hwm)?;
        self.options.send_hwm = hwm;
        for slot in self.sets.slots() {
            if self.sets.at_mut(slot).send.meter.set_limit(bytes) {
                self.serve(slot);
            }
        }
        self.serve_unfixed();
        Ok(())
    }

    /// Changes the receiving limit of every peer, as `set_send_hwm` does.
    ///
    /// # Errors
    /// As `set_send_hwm`.
    pub fn set_receive_hwm(&mut self, hwm: Option<u64>) -> Result<(), Failure> {
        let bytes = check_hwm(hwm)?;
        self.options.receive_hwm = hwm;
        for slot in self.sets.slots() {
            let queue = &mut self.sets.at_mut(slot).receive;
            let is_tried = queue.meter.set_limit(bytes);
            if queue.retry(is_tried) {
                self.wake(slot);
            }
        }
        Ok(())
    }

    /// Changes the longest wait of sends; those that wait keep their deadline.
    ///
    /// # Errors
    /// `InvalidOperation` unless it is 1 ms to 2^31-1 ms; the old value stays.
    pub fn set_send_timeout(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.options.send_timeout = round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?;
        Ok(())
    }

    /// Changes the longest wait of replies; those that wait keep their deadline.
    ///
    /// # Errors
    /// As `set_send_timeout`.
    pub fn set_reply_timeout(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.options.reply_timeout = round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?;
        Ok(())
    }

    /// Changes the default deadline of requests; those under way keep theirs.
    ///
    /// # Errors
    /// As `set_send_timeout`.
    pub fn set_request_timeout(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.options.request_timeout = round_timeout(timeout).map_err(|_| BAD_TIMEOUT)?;
        Ok(())
    }
}

//! Writes the primitive types of 6-service §2. Values that do not fit are the caller's mistake, found before.

use alloc::vec::Vec;

/// A part under construction.
pub(super) trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    /// text8 or rid; nothing for an absent optional text.
    fn short(&mut self, bytes: &[u8]);
    /// What `inside` writes, behind its length in four bytes.
    fn sized32(&mut self, inside: impl FnOnce(&mut Self));
    /// What `inside` writes, behind its length in two bytes.
    fn sized16(&mut self, inside: impl FnOnce(&mut Self));
}

impl Write for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }
    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }
    fn short(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 255, "a short field has at most 255 bytes");
        let bytes = bytes.get(..255).unwrap_or(bytes);
        self.push(bytes.len() as u8);
        self.extend_from_slice(bytes);
    }
    fn sized32(&mut self, inside: impl FnOnce(&mut Self)) {
        let at = self.len();
        self.u32(0);
        inside(self);
        let length = (self.len() - at - 4) as u32;
        if let Some(place) = self.get_mut(at..at + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
    fn sized16(&mut self, inside: impl FnOnce(&mut Self)) {
        let at = self.len();
        self.u16(0);
        inside(self);
        let length = (self.len() - at - 2) as u16;
        if let Some(place) = self.get_mut(at..at + 2) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
}

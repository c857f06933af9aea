//! The head of a reply and its legal pairs (S-24, O-83).

use super::command::{Command, head_bytes};
use super::fault::ServiceFault;
use super::reader::{Read, Reader};
use crate::wire::{Kind, Record};

/// Body of command 20.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReplyHead {
    /// Sequence of the request.
    pub correlation: u64,
    /// Class of the result; 0 = success.
    pub result: u32,
    /// Its cause; 0 where the class says all.
    pub code: u32,
}

impl ReplyHead {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Read<Self> {
        let correlation = reader.nonzero_u64("correlation")?;
        let (result, code) = (reader.u32("result")?, reader.u32("code")?);
        if !is_legal_pair(result, code) {
            return Err(ServiceFault::invalid("result and code"));
        }
        Ok(Self { correlation, result, code })
    }

    /// True for success, which alone may carry a payload.
    pub const fn is_ok(self) -> bool {
        self.result == 0
    }
}

/// True for the pairs of O-83. Their meaning stands in `host::ReplyResult`.
pub const fn is_legal_pair(result: u32, code: u32) -> bool {
    match code {
        0 => matches!(result, 0 | 101 | 103 | 108..=113),
        1 | 6 | 8..=11 | 14 => result == 102,
        12 | 16 => result == 104,
        2 | 5 | 13 | 17 | 19 | 20 | 35 => result == 105,
        15 | 18 | 22 => result == 106,
        3 | 4 | 7 | 21 | 33 | 34 => result == 107,
        _ => false,
    }
}

/// True if the frame's sequence and the head of part 0 say that this is a reply to the request of that sequence: a quick look.
/// `false` means that [`decode`](super::decode) has to say what is wrong, if anything.
#[inline]
pub fn is_reply_to(record: &Record) -> bool {
    let Some(&[a, b, major, command, flags, ref rest @ ..]) =
        record.part(0).and_then(|part| part.first_chunk::<13>())
    else {
        return false;
    };
    [a, b, major, command, flags] == head_bytes(Command::Reply, 0)
        && record.kind() == Kind::Reply
        && *rest == record.sequence().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ReplyResult;

    #[test]
    fn o83_the_codec_and_the_table_of_kinds_know_the_same_pairs() {
        for result in 0..=200 {
            for code in 0..=100 {
                let is_known = ReplyResult::new(result, code).kind().is_ok();
                assert_eq!(is_legal_pair(result, code), is_known, "{result}/{code}");
            }
        }
        assert!(!is_legal_pair(u32::MAX, 0) && !is_legal_pair(0, u32::MAX));
    }
}

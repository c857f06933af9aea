//! Results and kinds (O-25, O-80, O-83, O-84).

use zlink_proto::error::ErrorKind;
use zlink_proto::host::{Refusal, ReplyResult};

#[test]
fn t44_thirteen_kinds_and_no_backpressured() {
    assert_eq!(ErrorKind::ALL.len(), 13);
    for (number, kind) in ErrorKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
        assert_ne!(kind.name(), "Backpressured");
        // Every kind has something to send, and the receiver sees a kind for it.
        assert!(ReplyResult::representative(kind).kind().expect("in the table").is_some());
    }
}

#[test]
fn o83_a_code_goes_with_its_result_only() {
    let mut pairs = Vec::new();
    for result in 0..=200 {
        for code in 0..=100 {
            if ReplyResult::new(result, code).kind().is_ok() {
                pairs.push((result, code));
            }
        }
    }
    let expected = [
        (0, 0),
        (101, 0),
        (102, 1),
        (102, 6),
        (102, 8),
        (102, 9),
        (102, 10),
        (102, 11),
        (102, 14),
        (103, 0),
        (104, 12),
        (104, 16),
        (105, 2),
        (105, 5),
        (105, 13),
        (105, 17),
        (105, 19),
        (105, 20),
        (105, 35),
        (106, 15),
        (106, 18),
        (106, 22),
        (107, 3),
        (107, 4),
        (107, 7),
        (107, 21),
        (107, 33),
        (107, 34),
        (108, 0),
        (109, 0),
        (110, 0),
        (111, 0),
        (112, 0),
        (113, 0),
    ];
    assert_eq!(pairs, expected);
    for bad in [(102, 23), (105, 32), (106, 36), (101, 1), (0, 17), (114, 0), (u32::MAX, u32::MAX)] {
        assert!(ReplyResult::new(bad.0, bad.1).kind().is_err(), "{bad:?}");
    }
}

#[test]
fn o83_kinds_of_received_results() {
    use ErrorKind::*;
    let rows = [
        ((0, 0), None),
        ((101, 0), Some(DeadlineExceeded)),
        ((102, 8), Some(InvalidOperation)),
        ((102, 9), Some(NotFound)),
        ((103, 0), Some(ShuttingDown)),
        ((104, 12), Some(ProtocolError)),
        ((105, 13), Some(Unavailable)),
        ((105, 17), Some(InternalFailure)),
        ((105, 19), Some(DeadlineExceeded)),
        ((105, 35), Some(DataLost)),
        ((106, 15), Some(Rejected)),
        ((106, 18), Some(Unavailable)),
        ((107, 3), Some(AlreadyExists)),
        ((107, 7), Some(TypeMismatch)),
        ((107, 34), Some(Unavailable)),
        ((110, 0), Some(InvalidOperation)),
        ((113, 0), Some(Unavailable)),
    ];
    for ((result, code), kind) in rows {
        assert_eq!(ReplyResult::new(result, code).kind(), Ok(kind), "{result}/{code}");
    }
    assert_eq!(ReplyResult::QUEUE_FULL.name(), Ok("workerQueueFull"));
}

#[test]
fn o84_representatives_come_back_as_their_kind() {
    for kind in ErrorKind::ALL {
        let seen = ReplyResult::representative(kind).kind().expect("in the table");
        let expected = match kind {
            // Resources of the target are not those of this host; roles of the target are its own matter.
            ErrorKind::CapacityExceeded => ErrorKind::Unavailable,
            ErrorKind::NotConfigured => ErrorKind::InternalFailure,
            same => same,
        };
        assert_eq!(seen, Some(expected));
    }
}

#[test]
fn o84_refusals_of_owners() {
    let rows = [
        (Refusal::OwnerFull, (106, 18), ErrorKind::Unavailable, ErrorKind::CapacityExceeded, "backpressure"),
        (Refusal::TargetClosed, (102, 14), ErrorKind::NotFound, ErrorKind::NotFound, "target_closed"),
        (Refusal::ShuttingDown, (103, 0), ErrorKind::ShuttingDown, ErrorKind::ShuttingDown, "shutdown"),
    ];
    for (refusal, (result, code), remote, local, reason) in rows {
        assert_eq!(refusal.reply(), ReplyResult::new(result, code));
        assert_eq!(refusal.reply().kind(), Ok(Some(remote)));
        assert_eq!((refusal.local_kind(), refusal.reason()), (local, reason));
    }
}

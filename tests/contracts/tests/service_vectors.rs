//! Service records against the vectors of the specification (T90), and the short way of the hot path against the long one.

use bytes::Bytes;
use zlink_proto::message::{Body, Outgoing};
use zlink_proto::wire::service::{
    ChannelRecord, ChannelRequest, ChannelSend, Content, KnownTexts, Prefix, ReplyRecord, Sender, decode,
    encode_metadata,
};
use zlink_proto::wire::{Kind, Record};
use zlink_testkit::vectors::service::{Vector, check_service, read_vectors, run};

fn file() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/service.json");
    std::fs::read_to_string(path).expect("the vector file is part of the repository")
}

fn vectors() -> Vec<Vector> {
    read_vectors(&file()).expect("the vector file can be read")
}

fn record(kind: Kind, sequence: u64, message: &impl Outgoing) -> Record {
    let parts = (0..message.part_count()).map(|index| {
        let part = message.part(index);
        let mut bytes = part.heads.concat();
        bytes.extend_from_slice(part.body.as_slice());
        Bytes::from(bytes)
    });
    Record::from_parts(kind, sequence, parts.collect())
}

#[test]
fn t90_every_vector_decodes_to_its_fields_or_class_and_encodes_to_its_bytes() {
    let found = check_service(&file());
    assert!(found.is_empty(), "{} of them differ: {found:#?}", found.len());
    assert_eq!(vectors().len(), 176);
}

#[test]
fn the_runner_sees_a_vector_that_is_wrong() {
    let good = r#"[{"id": "a", "codec": "record", "hex": "5a4d0105000102030405060708", "expect": "ok",
        "fields": {"command": 5, "body": {"probe": "72623859790382856"}}}]"#;
    assert_eq!(check_service(good), []);
    for (from, to) in [
        (r#""ok""#, r#""invalid-field""#),
        ("72623859790382856", "72623859790382857"),
        ("5a4d0105", "5a4d0107"),
        (r#""record""#, r#""recorder""#),
        ("}}}]", "}}}"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        assert!(!check_service(&bad).is_empty(), "{to}");
    }
}

#[test]
fn t90_no_byte_anywhere_makes_a_decoder_panic() {
    for vector in vectors() {
        let Vector { parts, .. } = &vector;
        for (part, bytes) in parts.iter().enumerate() {
            for at in 0..bytes.len() {
                let mut changed = vector.clone();
                for value in [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(1)] {
                    let mut part_bytes = bytes.to_vec();
                    part_bytes[at] = value;
                    changed.parts[part] = part_bytes.into();
                    assert!(run(&changed).is_some());
                    agree_on(&changed);
                }
                changed.parts[part] = bytes.slice(..at);
                assert!(run(&changed).is_some());
                agree_on(&changed);
            }
        }
    }
}

/// The short way finds exactly the records of 18 and 19 that the long way finds well formed, and the same in them.
fn agree_on(vector: &Vector) {
    let (kind, sequence) = vector.frame;
    let record = Record::from_parts(kind, sequence, vector.parts.clone());
    let short = ChannelRecord::decode(&record, KnownTexts::default());
    let long = decode(&record, Some(Sender::Client)).ok().and_then(|long| match long.content {
        Content::ChannelSend { channel } => Some((false, channel, long)),
        Content::ChannelRequest { channel, .. } => Some((true, channel, long)),
        _ => None,
    });
    let Some((is_request, channel, long)) = long else {
        assert_eq!(short, None, "{}", vector.id);
        return;
    };
    let short = short.unwrap_or_else(|| panic!("{}: {long:?}", vector.id));
    let layout = short.layout;
    let envelope = long.envelope.expect("both commands have one");
    assert_eq!(layout.is_request, is_request);
    assert_eq!(layout.channel(&record), channel);
    assert_eq!(layout.packet(&record), envelope.packet);
    assert_eq!(layout.content_type(&record), envelope.content_type);
    assert_eq!(layout.payload(&record), envelope.payload);
    assert_eq!(layout.payload_bytes as usize, envelope.payload.len());
    assert_eq!(layout.metadata(&record), long.metadata.unwrap_or_default());
    let known = KnownTexts { channel: short.channel, names: short.names };
    assert_eq!(ChannelRecord::decode(&record, known), Some(short), "known texts change nothing");
}

#[test]
fn t90_the_short_way_agrees_with_the_long_one_on_all_vectors() {
    let vectors = vectors();
    vectors.iter().for_each(agree_on);
    let calls =
        vectors.iter().filter(|vector| vector.sender == Some(Sender::Client) && vector.expect == "ok");
    assert!(calls.count() >= 2, "the vectors have calls of clients");
}

#[test]
fn t90_prepared_records_are_the_golden_ones() {
    let prefix = Prefix::new("orders", "Ping", "application/json").expect("legal texts");
    let payload = Body::Borrowed(b"{}");
    let mut metadata = Vec::new();
    encode_metadata([("tenant-id", "tenant-42")], &mut metadata).expect("legal metadata");
    let mut request = ChannelRequest::new(&prefix, payload);
    request.assign_sequence(7);
    for (id, message) in [
        ("SV-G14-channel-send", record(Kind::Data, 0, &ChannelSend::new(&prefix, payload))),
        (
            "SV-G15-channel-send-meta",
            record(Kind::Data, 0, &ChannelSend::new(&prefix, payload).with_metadata(&metadata)),
        ),
        ("SV-G16-channel-request", record(Kind::Request, 7, &request)),
        ("SV-G17-reply-ok", record(Kind::Reply, 7, &ReplyRecord::ok(7, prefix.names(), payload))),
        ("SV-G18-reply-no-handler", record(Kind::Reply, 7, &ReplyRecord::failed(7, 102, 9))),
    ] {
        let vector = vectors().into_iter().find(|vector| vector.id == id).expect("a golden vector");
        assert_eq!(message.parts().collect::<Vec<_>>(), vector.parts, "{id}");
    }
}

#[test]
fn s10_metadata_that_cannot_be_written_leaves_nothing_behind() {
    let long = "v".repeat(1_024);
    let cases: [&[(&str, &str)]; 5] =
        [&[("", "v")], &[("k", "1"), ("k", "2")], &[("k", "a\0b")], &[("k", &long)], &[(&long, "v")]];
    for pairs in cases {
        let mut into = vec![9];
        assert!(encode_metadata(pairs.iter().copied(), &mut into).is_err(), "{pairs:?}");
        assert_eq!(into, [9]);
    }
}

#[test]
fn s11_a_prefix_takes_no_text_that_a_peer_would_refuse() {
    let long = "x".repeat(256);
    for (channel, packet, content) in
        [("", "p", "c"), ("c", "", "c"), ("c", "p", ""), ("a\0", "p", "c"), ("c", &long, "c")]
    {
        assert!(Prefix::new(channel, packet, content).is_err(), "{channel} {packet} {content}");
    }
    let prefix = Prefix::new("c", &long[..255], "t").expect("255 bytes are legal");
    assert!(prefix.is_for(&long[..255], "t") && !prefix.is_for("x", "t"));
}

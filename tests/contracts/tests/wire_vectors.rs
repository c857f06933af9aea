//! The vectors of the specification (W-58).

use zlink_testkit::vectors::wire::check_wire;

fn vectors() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/wire.json");
    std::fs::read_to_string(path).expect("the vector file is part of the repository")
}

#[test]
fn w58_every_vector_gives_its_outcome_however_it_is_cut_and_encodes_again() {
    let found = check_wire(&vectors());
    assert!(found.is_empty(), "{} of them differ, the first: {:#?}", found.len(), &found[0]);
}

/// The runner is able to fail: a wrong outcome, a wrong event, a wrong byte and a truncated file are all seen.
#[test]
fn the_runner_sees_a_vector_that_is_wrong() {
    let good = r#"[{"id": "a", "hex": "5a010000000000026869", "fields":
        [{"frame": "data", "flags": 0, "kind": 0, "payload": "6869"}], "expect": {"given":
        {"local": "ROUTER", "phase": "open", "lane": 0, "max": 0, "peer": "DEALER"}, "outcome": "ok", "events":
        [{"event": "record", "kind": 0, "parts": ["6869"]}]}}]"#;
    assert_eq!(check_wire(good), []);
    for (from, to) in [
        (r#""outcome": "ok""#, r#""outcome": "need_more""#),
        (r#"["6869"]"#, r#"["6869", ""]"#),
        (r#""payload": "6869""#, r#""payload": "6868""#),
        (r#""max": 0"#, r#""max": 1"#),
        ("}}]", "}}"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        assert!(!check_wire(&bad).is_empty(), "{to}");
    }
}

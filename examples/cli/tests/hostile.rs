//! Hostile peers of a real server process (B-55): each is closed with the ERROR that names its fault and within its limit,
//! memory stays bounded, and good clients go on undisturbed.

mod process;

use process::{Zlink, is_long, number};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Total time of a handshake (code 06), and what a busy machine may add to it.
const HANDSHAKE: Duration = Duration::from_secs(5);
const SLACK: Duration = Duration::from_secs(6);
const MAX_MESSAGE: u32 = 65_536;

fn frame(flags: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x5a, 0x01, flags, kind];
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

/// HELLO of a DEALER.
fn hello(name: &[u8]) -> Vec<u8> {
    frame(2, 0, &[&[0x01, 0x05, name.len() as u8], name].concat())
}

/// A whole handshake of a DEALER, then `behind`.
fn established(name: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut body = vec![0x04];
    for (key, value) in [
        (&b"Socket-Type"[..], &b"DEALER"[..]),
        (b"Routing-Id", name),
        (b"Zlink-Max-Message-Size", &[0; 8]),
        (b"Zlink-Lane-Count", &[1]),
        (b"Zlink-Lane", &[0]),
    ] {
        body.push(key.len() as u8);
        body.extend_from_slice(key);
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    [hello(name), frame(2, 0, &body), behind.to_vec()].concat()
}

/// Code and text of the last ERROR in what the server wrote; other bytes are whole frames.
fn error_of(answer: &[u8]) -> Option<(u8, String)> {
    let mut rest = answer;
    let mut found = None;
    while rest.len() >= 8 {
        let length = u32::from_be_bytes(rest[4..8].try_into().expect("four bytes")) as usize;
        let body = rest.get(8..8 + length)?;
        if rest[2] & 2 != 0 && body.first() == Some(&0x05) {
            found = body.get(1).map(|code| (*code, String::from_utf8_lossy(&body[2..]).into_owned()));
        }
        rest = &rest[8 + length..];
    }
    found
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(process::PATIENCE)).expect("a timeout");
    stream
}

/// Everything until the server closes.
fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server did not close: {error}"),
    }
    answer
}

/// What a hostile peer does and how it is to end: its name, bytes, whether it then ends its side, code, text, limit.
struct Row {
    name: &'static str,
    bytes: Vec<u8>,
    ends: bool,
    code: Option<u8>,
    text: &'static str,
    limit: Duration,
}

fn row(name: &'static str, bytes: Vec<u8>, code: u8, text: &'static str) -> Row {
    Row { name, bytes, ends: false, code: Some(code), text, limit: Duration::ZERO }
}

fn rows() -> Vec<Row> {
    let client_hello =
        [&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03][..], &[0xaa; 506]].concat();
    let endless = (0..1_000).flat_map(|_| frame(1, 0, &[7; 1_000])).collect::<Vec<_>>();
    let handshake = |row: Row| Row { limit: HANDSHAKE, ..row };
    let ends = |row: Row| Row { ends: true, ..row };
    let huge = [0x5a, 0x01, 0, 0, 0xff, 0xff, 0xff, 0xff];
    vec![
        row("garbage", (0..4_096u32).map(|i| (i * 37 + 200) as u8).collect(), 0x01, "invalid magic"),
        row("zeros", vec![0; 100_000], 0x01, "invalid magic"),
        row("TLS", client_hello, 0x01, "invalid magic"),
        row("HTTP", b"GET / HTTP/1.1\r\nHost: example\r\n\r\n".to_vec(), 0x01, "invalid magic"),
        row("another version", vec![0x5a, 0x02, 0, 0], 0x02, "version mismatch"),
        row("a huge HELLO", vec![0x5a, 0x01, 2, 0, 0xff, 0xff, 0xff, 0xff], 0x04, "too large"),
        handshake(row("silence", Vec::new(), 0x06, "handshake timeout")),
        handshake(row("half a handshake", hello(b"half"), 0x06, "handshake timeout")),
        handshake(row("half a header", vec![0x5a, 0x01, 2], 0x06, "handshake timeout")),
        ends(row("an end inside a header", vec![0x5a, 0x01], 0x0a, "frame incomplete")),
        row("a huge length", established(b"huge", &huge), 0x04, "body too large"),
        row("a record without end", established(b"endless", &endless), 0x04, "body too large"),
        row(
            "a reserved flag",
            established(b"flags", &[0x5a, 0x01, 0x80, 0, 0, 0, 0, 0]),
            0x03,
            "flags invalid",
        ),
        ends(row(
            "an end inside a record",
            established(b"inside", &frame(1, 0, &[7; 100])),
            0x0a,
            "incomplete",
        )),
    ]
}

/// One hostile peer, on a thread of its own.
fn attack(address: SocketAddr, row: Row) -> JoinHandle<()> {
    thread::spawn(move || {
        let Row { name, bytes, ends, code, text, limit } = row;
        let start = Instant::now();
        let mut stream = open(address);
        // It may be closed before it wrote everything.
        let _ = stream.write_all(&bytes);
        if ends {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let answer = read_to_end(&mut stream);
        let took = start.elapsed();
        let error = error_of(&answer);
        assert_eq!(error.as_ref().map(|(code, _)| *code), code, "{name}: {error:?} in {answer:02x?}");
        assert!(error.is_some_and(|(_, is)| is.contains(text)), "{name}: not {text:?} in {answer:02x?}");
        assert!(took + Duration::from_millis(50) >= limit && took < limit + SLACK, "{name}: after {took:?}");
    })
}

fn address_of(endpoint: &str) -> SocketAddr {
    endpoint.strip_prefix("tcp://").and_then(|rest| rest.parse().ok()).expect("a numeric endpoint")
}

fn serve(more: &[&str]) -> (Zlink, String, SocketAddr) {
    let size = MAX_MESSAGE.to_string();
    let mut all = vec!["--channel", "orders", "--bind", "tcp://127.0.0.1:0", "--max-message-size", &size];
    all.extend_from_slice(more);
    let (server, endpoint) = Zlink::serve(&all);
    let address = address_of(&endpoint);
    (server, endpoint, address)
}

fn good<'a>(command: &'a str, endpoint: &'a str, more: &[&'a str]) -> Zlink {
    let mut all = vec![command, "--channel", "orders", "--connect", endpoint];
    all.extend_from_slice(more);
    Zlink::start(&all)
}

/// A good client was not disturbed: everything that it tried was done.
fn assert_undisturbed(client: Zlink, done: &str) -> u64 {
    let (summary, status) = client.finish();
    assert!(status.success(), "{summary}");
    assert_eq!(summary["errors"], serde_json::json!({}), "{summary}");
    assert!(number(&summary, done) > 0, "{summary}");
    assert_eq!(number(&summary, "attempted"), number(&summary, done), "{summary}");
    number(&summary, done)
}

fn assert_all_handled(server: Zlink, count: u64) {
    server.signal("TERM");
    let (summary, status) = server.finish();
    assert!(status.success(), "{summary}");
    assert_eq!(number(&summary, "handled"), count, "{summary}");
    for none in ["gaps", "duplicates", "out_of_order"] {
        assert_eq!(number(&summary, none), 0, "{none}: {summary}");
    }
}

#[test]
fn b55_each_hostile_peer_gets_its_reason_while_good_clients_go_on() {
    let (server, endpoint, address) = serve(&[]);
    let sender = good("send", &endpoint, &["--for", "6s", "--rate", "2000", "--timeout", "5s"]);
    let requester = good("request", &endpoint, &["--for", "6s", "--rate", "500", "--timeout", "5s"]);
    let attacks: Vec<_> = rows().into_iter().map(|row| attack(address, row)).collect();
    let results: Vec<_> = attacks.into_iter().map(JoinHandle::join).collect();
    let failed = results.iter().filter(|result| result.is_err()).count();
    let sent = assert_undisturbed(sender, "accepted");
    let answered = assert_undisturbed(requester, "ok");
    assert_all_handled(server, sent + answered);
    assert_eq!(failed, 0, "attacks that did not end as they have to");
}

/// 256 unvalidated connections at most: the oldest are told `too many connections`, the rest end by their handshake limit; memory
/// does not grow with their number.
#[test]
fn b55_n20_thousands_of_silent_connections_are_bounded() {
    const COUNT: usize = 900;
    const KEPT: usize = 256;
    let (server, endpoint, address) = serve(&[]);
    let sender = good("send", &endpoint, &["--for", "6s", "--rate", "2000", "--timeout", "5s"]);
    thread::sleep(Duration::from_millis(500));
    let before = server.resident_kib();
    // Few descriptors are enough for many: each round stands for itself.
    let rounds = if is_long() { 10 } else { 2 };
    let mut most = 0;
    let mut live: Vec<TcpStream> = Vec::new();
    for round in 0..rounds {
        live.clear();
        live = (0..COUNT).map(|_| open(address)).collect::<Vec<_>>();
        // All that are too many were told so, in the order in which they came.
        for stream in &mut live[..COUNT - KEPT] {
            let error = error_of(&read_to_end(stream));
            assert_eq!(error.map(|(code, _)| code), Some(0x7f), "round {round}");
        }
        most = most.max(server.resident_kib());
    }
    let start = Instant::now();
    for stream in &mut live[COUNT - KEPT..] {
        let error = error_of(&read_to_end(stream));
        assert_eq!(error.map(|(code, _)| code), Some(0x06), "the handshake limit");
    }
    assert!(start.elapsed() < HANDSHAKE + SLACK);
    let after = server.resident_kib().max(most);
    // B-56: 16 KiB each, plus what the allocator and the machines of 256 connections take.
    assert!(after < before + 16 * 1_024, "{before} KiB, then {after} KiB");
    let sent = assert_undisturbed(sender, "accepted");
    assert_all_handled(server, sent);
}

/// A requester whose replies are never read: its send queue fills, and neither memory nor others are affected.
#[test]
fn b55_a_peer_that_never_reads_costs_its_queue_only() {
    let (mut server, endpoint, address) = serve(&["--reply-size", "60000", "--send-hwm", "131072"]);
    let deaf = deaf_proxy(address);
    let through = format!("tcp://{deaf}");
    let before = server.resident_kib();
    let victim = good("request", &through, &["--for", "4s", "--concurrency", "2000", "--timeout", "3s"]);
    let requester = good("request", &endpoint, &["--for", "4s", "--rate", "100", "--timeout", "5s"]);
    thread::sleep(Duration::from_millis(3_000));
    server.wait_event("status");
    let after = server.resident_kib();
    assert!(after < before + 32 * 1_024, "{before} KiB, then {after} KiB");
    assert_undisturbed(requester, "ok");
    let (summary, _) = victim.finish();
    assert!(number(&summary, "ok") < 2_000, "most replies had no way: {summary}");
    server.signal("TERM");
    let (_, status) = server.finish();
    assert!(status.success());
}

/// A way to `server` that carries everything there, and back only what the handshakes need.
fn deaf_proxy(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let there = open(server);
            let (mut from, mut to) =
                (client.try_clone().expect("a copy"), there.try_clone().expect("a copy"));
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || {
                let (mut there, mut client) = (there, client);
                let mut chunk = [0; 1_024];
                let mut carried = 0;
                while carried < 100_000 {
                    let Ok(count @ 1..) = there.read(&mut chunk) else { return };
                    if client.write_all(&chunk[..count]).is_err() {
                        return;
                    }
                    carried += count;
                }
                thread::sleep(process::PATIENCE);
            });
        }
    });
    address
}

/// Row 43 takes 30 s: for the long run.
#[test]
fn b55_a_stopped_frame_ends_after_its_limit() {
    if !is_long() {
        return;
    }
    let (server, _, address) = serve(&[]);
    let stopped = Row {
        limit: Duration::from_secs(30),
        ..row("a stopped frame", established(b"stopped", &[0x5a, 1, 0, 0, 0, 0, 0, 100, 1, 2]), 0x7f, "")
    };
    attack(address, stopped).join().expect("closed as it has to be");
    server.signal("TERM");
    server.finish();
}

//! `zlink-proto` alone, in a loop over blocking sockets of `std`: no runtime, no driver. This loop is the whole contract.
//!
//! `cargo run -p zlink-examples --example custom_loop`

use bytes::Bytes;
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use zlink_proto::time::Timestamp;
use zlink_proto::transport::{
    Connection, ConnectionIo, Outcome, Received, Settled, Socket, SocketOptions, SocketOutput, Submitted,
    Target,
};
use zlink_proto::wire::SocketType;

/// Longest sleep: a blocking read cannot be woken by anything but bytes.
const NAP_MAX: Duration = Duration::from_millis(20);
const RECORDS: usize = 1_000;

/// A socket with one connection, and the stream below it.
struct Loop {
    socket: Socket,
    link: Option<(TcpStream, Connection)>,
    begin: Instant,
    is_closed: bool,
}

impl Loop {
    fn new(socket_type: SocketType) -> Result<Self, Box<dyn Error + Send + Sync>> {
        // Anything random comes from outside, as time does.
        let seed = RandomState::new().build_hasher().finish();
        let socket =
            Socket::new(socket_type, SocketOptions::default(), seed).map_err(|error| error.to_string())?;
        Ok(Self { socket, link: None, begin: Instant::now(), is_closed: false })
    }

    /// Time is an argument of the machines; it has to be monotonic and nothing more.
    fn now(&self) -> Timestamp {
        Timestamp::ZERO.saturating_add(self.begin.elapsed())
    }

    fn attach(&mut self, stream: TcpStream, connection: Option<Connection>) {
        // None: the socket does not want it, for example because it closes.
        self.link = connection.map(|connection| (stream, connection));
    }

    /// One turn: outputs, exchange, write, read, timers.
    fn turn(&mut self) -> io::Result<()> {
        while let Some(output) = self.socket.poll_output() {
            match output {
                SocketOutput::Connect { number, address, .. } => self.connect(number, &address),
                SocketOutput::Closed => self.is_closed = true,
                SocketOutput::PeerReady { routing_id, .. } => println!("a peer is ready: {routing_id:?}"),
                SocketOutput::PeerLost { .. } => println!("the peer is gone"),
                SocketOutput::Abandon(_)
                | SocketOutput::StopListening(_)
                | SocketOutput::Drained(_)
                | SocketOutput::ProbeDue(_) => {}
            }
        }
        // Connections that should exchange soon; with one connection a loop can always do it.
        while self.socket.poll_wake().is_some() {}
        let now = self.now();
        if self.socket.poll_timeout().is_some_and(|due| due <= now) {
            self.socket.handle_timeout(now);
        }
        let Some((stream, connection)) = &mut self.link else {
            thread::sleep(Duration::from_millis(1));
            return Ok(());
        };

        connection.exchange(&mut self.socket, now);
        write(stream, connection, now)?;
        let due = [connection.poll_timeout(), self.socket.poll_timeout()].into_iter().flatten().min();
        let nap =
            due.map_or(NAP_MAX, |due| due.saturating_since(now).clamp(Duration::from_millis(1), NAP_MAX));
        read(stream, connection, nap, now)?;

        let now = Timestamp::ZERO.saturating_add(self.begin.elapsed());
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        match connection.io() {
            ConnectionIo::Open => {}
            ConnectionIo::Finish => stream.shutdown(std::net::Shutdown::Write)?,
            ConnectionIo::Close => {
                connection.exchange(&mut self.socket, now);
                write(stream, connection, now)?;
                self.link = None;
            }
        }
        Ok(())
    }

    fn connect(&mut self, number: zlink_proto::id::ConnectionNumber, address: &str) {
        match TcpStream::connect(address.trim_start_matches("tcp://")) {
            Ok(stream) => {
                let connection = self.socket.handle_connected(number, self.now());
                self.attach(stream, connection);
            }
            Err(_) => self.socket.handle_connect_failed(number, self.now()),
        }
    }

    /// Ends in order: what was accepted is transmitted first.
    fn close(mut self) -> io::Result<()> {
        let now = self.now();
        self.socket.close(Some(Duration::from_secs(5)), now);
        while !self.is_closed || self.link.is_some() {
            self.turn()?;
        }
        Ok(())
    }
}

/// Writes all that the connection shows.
fn write(stream: &mut TcpStream, connection: &mut Connection, now: Timestamp) -> io::Result<()> {
    loop {
        let mut pieces = [&[][..]; 16];
        let count = connection.transmit(&mut pieces);
        if count == 0 {
            return Ok(());
        }
        let slices: Vec<_> = pieces.iter().take(count).map(|piece| IoSlice::new(piece)).collect();
        match stream.write_vectored(&slices) {
            Ok(written) => connection.transmitted(written, now),
            // For the machine any failure is a reset: it says what that means for peers and operations.
            Err(_) => {
                connection.handle_end(true, now);
                return Ok(());
            }
        }
    }
}

/// Reads what is there, or sleeps until something is.
fn read(
    stream: &mut TcpStream,
    connection: &mut Connection,
    nap: Duration,
    now: Timestamp,
) -> io::Result<()> {
    stream.set_read_timeout(Some(nap))?;
    let space = connection.receive_space();
    if space.is_empty() {
        // Reading is stopped: the receive queue is full, or the connection ends.
        thread::sleep(Duration::from_millis(1));
        return Ok(());
    }
    match stream.read(space) {
        Ok(0) => connection.handle_end(false, now),
        Ok(count) => connection.received(count, now),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) => {}
        Err(_) => connection.handle_end(true, now),
    }
    Ok(())
}

/// Takes one-way records until a request comes, and answers that with their number.
fn serve(listener: &TcpListener) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let mut server = Loop::new(SocketType::Router)?;
    let id = server.socket.add_listener();
    let (stream, _) = listener.accept()?;
    let connection = server.socket.handle_accepted(id, server.now());
    server.attach(stream, connection);
    let (mut records, mut count) = (Vec::new(), 0);
    loop {
        server.turn()?;
        let now = server.now();
        server.socket.receive(64, &mut records, now);
        for Received { token, .. } in records.drain(..) {
            let Some(token) = token else {
                count += 1;
                continue;
            };
            let mut answer = Bytes::from(count.to_string());
            // Admitted, or waiting for room: in either case the socket has it.
            let _ = server.socket.reply(token, &mut answer, || now).map_err(|failure| failure.to_string())?;
            server.close()?;
            return Ok(count);
        }
    }
}

/// Sends records and then a request; returns its answer.
fn call(address: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut client = Loop::new(SocketType::Dealer)?;
    let now = client.now();
    client.socket.connect(&format!("tcp://{address}"), now).map_err(|failure| failure.to_string())?;

    let mut sent = 0;
    while sent < RECORDS {
        let mut record = Bytes::from(format!("record {sent}"));
        let now = client.now();
        match client.socket.send(Target::Any, &mut record, None, || now) {
            Ok(Submitted::Admitted) => sent += 1,
            // No peer yet, or its queue is full: it waits inside, and its end comes as a settled operation.
            Ok(Submitted::Waiting(operation)) => match wait(&mut client, operation)? {
                Outcome::Sent => sent += 1,
                Outcome::Reply(_) => return Err("a send has no reply".into()),
                Outcome::Failed(failure) => return Err(failure.to_string().into()),
            },
            Err(refused) => return Err(format!("{refused:?}").into()),
        }
    }
    let mut question = Bytes::from_static(b"how many?");
    let now = client.now();
    let timeout = Some(Duration::from_secs(5));
    let operation = client
        .socket
        .request(Target::Any, &mut question, timeout, now)
        .map_err(|failure| failure.to_string())?;
    let answer = match wait(&mut client, operation)? {
        Outcome::Reply(record) => String::from_utf8_lossy(record.part(0).unwrap_or_default()).into_owned(),
        Outcome::Sent => return Err("a request ends with a reply".into()),
        Outcome::Failed(failure) => return Err(failure.to_string().into()),
    };
    client.close()?;
    Ok(answer)
}

/// Turns the loop until this operation has its one end.
fn wait(client: &mut Loop, wanted: zlink_proto::id::OperationId) -> io::Result<Outcome> {
    let mut settled = Vec::new();
    loop {
        client.turn()?;
        client.socket.take_settled(&mut settled);
        for Settled { operation, outcome } in settled.drain(..) {
            client.socket.collected(operation);
            if operation == wanted {
                return Ok(outcome);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = thread::spawn(move || serve(&listener));
    let answer = call(&address)?;
    let taken = server.join().map_err(|_| "the server panicked")??;
    println!("the server took {taken} records and answered {answer:?}");
    if answer == RECORDS.to_string() { Ok(()) } else { Err("records are missing".into()) }
}

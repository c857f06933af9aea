//! Endpoint addresses (N-01).

use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest `ipc` path, in bytes.
const PATH_BYTES_MAX: usize = 107;
/// Longest `inproc` name, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Longest host name, in bytes.
const HOST_BYTES_MAX: usize = 253;

/// What an endpoint is for: `*` and port 0 make sense in one of them only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndpointUse {
    /// To listen on it.
    Bind,
    /// To connect to it.
    Connect,
}

/// The host of an endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HostName {
    /// `*`: all addresses, IPv4 and IPv6. Bind only.
    Any,
    /// A literal address.
    Address(IpAddr),
    /// A name, resolved at every attempt.
    Name(String),
}

/// A checked `tcp` endpoint. Equal endpoints are the same endpoint (N-05).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    host: HostName,
    port: u16,
}

/// What is wrong with an endpoint address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not `tcp`, `ipc` or `inproc`, or no `://` at all.
    #[error("unknown scheme, expected tcp://, ipc:// or inproc://")]
    UnknownScheme,
    /// `ipc` or `inproc`.
    #[error("scheme not supported by this driver yet: {0}")]
    UnsupportedScheme(&'static str),
    /// No `:PORT` behind the host.
    #[error("missing port")]
    MissingPort,
    /// The port is not a number from 0 to 65535.
    #[error("bad port, expected 0 to 65535")]
    BadPort,
    /// Nothing in front of the port.
    #[error("empty host")]
    EmptyHost,
    /// Neither an address nor a name. IPv6 addresses stand in brackets.
    #[error("bad host, expected IPv4, [IPv6], a name or *")]
    BadHost,
    /// `*` in connect.
    #[error("host * in connect")]
    WildcardInConnect,
    /// Port 0 in connect.
    #[error("port 0 in connect")]
    PortZeroInConnect,
    /// `ipc` without a path.
    #[error("empty path")]
    EmptyPath,
    /// An `ipc` path above 107 bytes.
    #[error("path too long, at most 107 bytes")]
    PathTooLong,
    /// `inproc` without a name.
    #[error("empty name")]
    EmptyName,
    /// An `inproc` name above 255 bytes.
    #[error("name too long, at most 255 bytes")]
    NameTooLong,
}

impl Endpoint {
    /// Reads `tcp://HOST:PORT`; opens and resolves nothing.
    ///
    /// # Errors
    /// Names the part at fault.
    pub fn parse(address: &str, purpose: EndpointUse) -> Result<Self, EndpointError> {
        let (scheme, rest) = address.split_once("://").ok_or(EndpointError::UnknownScheme)?;
        match scheme {
            "tcp" => Self::parse_tcp(rest, purpose),
            "ipc" if rest.is_empty() => Err(EndpointError::EmptyPath),
            "ipc" if rest.len() > PATH_BYTES_MAX => Err(EndpointError::PathTooLong),
            "ipc" => Err(EndpointError::UnsupportedScheme("ipc")),
            "inproc" if rest.is_empty() => Err(EndpointError::EmptyName),
            "inproc" if rest.len() > NAME_BYTES_MAX => Err(EndpointError::NameTooLong),
            "inproc" => Err(EndpointError::UnsupportedScheme("inproc")),
            _ => Err(EndpointError::UnknownScheme),
        }
    }

    /// The host.
    pub const fn host(&self) -> &HostName {
        &self.host
    }

    /// The port; 0 = chosen by the system, in bind only.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The same host with another port: the real one after a bind to port 0.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    fn parse_tcp(rest: &str, purpose: EndpointUse) -> Result<Self, EndpointError> {
        let (host, port) = split_port(rest)?;
        let host = parse_host(host)?;
        let port = parse_port(port)?;
        match purpose {
            EndpointUse::Bind => {}
            EndpointUse::Connect if host == HostName::Any => return Err(EndpointError::WildcardInConnect),
            EndpointUse::Connect if port == 0 => return Err(EndpointError::PortZeroInConnect),
            EndpointUse::Connect => {}
        }
        Ok(Self { host, port })
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { host: HostName::Address(address.ip()), port: address.port() }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostName::Any => write!(f, "tcp://*:{}", self.port),
            HostName::Address(IpAddr::V4(ip)) => write!(f, "tcp://{ip}:{}", self.port),
            HostName::Address(IpAddr::V6(ip)) => write!(f, "tcp://[{ip}]:{}", self.port),
            HostName::Name(name) => write!(f, "tcp://{name}:{}", self.port),
        }
    }
}

/// Host, brackets included, and port.
fn split_port(rest: &str) -> Result<(&str, &str), EndpointError> {
    let split = match rest.rfind(']') {
        // Colons inside brackets belong to the address.
        Some(bracket) => {
            rest.split_at_checked(bracket + 1).and_then(|(host, port)| Some((host, port.strip_prefix(':')?)))
        }
        None => rest.rsplit_once(':'),
    };
    match split {
        Some((_, "")) => Err(EndpointError::MissingPort),
        Some(split) => Ok(split),
        None if rest.is_empty() => Err(EndpointError::EmptyHost),
        None => Err(EndpointError::MissingPort),
    }
}

fn parse_port(port: &str) -> Result<u16, EndpointError> {
    // The standard parser would take a sign.
    if port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EndpointError::BadPort);
    }
    port.parse().map_err(|_| EndpointError::BadPort)
}

fn parse_host(host: &str) -> Result<HostName, EndpointError> {
    if host.is_empty() || host == "[]" {
        return Err(EndpointError::EmptyHost);
    }
    if host == "*" {
        return Ok(HostName::Any);
    }
    if let Some(inner) = host.strip_prefix('[') {
        let ip: Ipv6Addr =
            inner.strip_suffix(']').and_then(|ip| ip.parse().ok()).ok_or(EndpointError::BadHost)?;
        return Ok(HostName::Address(IpAddr::V6(ip)));
    }
    if let Ok(ip) = host.parse::<Ipv4Addr>() {
        return Ok(HostName::Address(IpAddr::V4(ip)));
    }
    if is_name(host) { Ok(HostName::Name(host.into())) } else { Err(EndpointError::BadHost) }
}

/// What a resolver may know. A name whose last label is a number is an IPv4 address with a mistake in it.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') || b >= 0x80)
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    host.len() <= HOST_BYTES_MAX
        && host.split('.').all(is_label)
        && host.rsplit('.').next().is_some_and(|last| !last.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::EndpointError::*;
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    fn bind(address: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::parse(address, EndpointUse::Bind)
    }

    fn connect(address: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::parse(address, EndpointUse::Connect)
    }

    #[test]
    fn n01_every_form_of_a_host_is_read_and_shown_again() {
        for address in
            ["tcp://127.0.0.1:7400", "tcp://[::1]:1", "tcp://localhost:65535", "tcp://a-b.example.com:80"]
        {
            for parsed in [bind(address), connect(address)] {
                assert_eq!(parsed.map(|endpoint| endpoint.to_string()).as_deref(), Ok(address));
            }
        }
        let v4 = bind("tcp://10.0.0.1:5").expect("valid");
        assert_eq!(*v4.host(), HostName::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))));
        assert_eq!(*bind("tcp://*:0").expect("valid").host(), HostName::Any);
        assert_eq!(*bind("tcp://db.:1").expect("valid").host(), HostName::Name("db.".into()));
    }

    #[test]
    fn n01_errors_name_the_part_at_fault() {
        let long = "n".repeat(256);
        for (address, expected) in [
            ("", UnknownScheme),
            ("127.0.0.1:80", UnknownScheme),
            ("TCP://127.0.0.1:80", UnknownScheme),
            ("udp://127.0.0.1:80", UnknownScheme),
            ("://127.0.0.1:80", UnknownScheme),
            ("tcp://", EmptyHost),
            ("tcp://:80", EmptyHost),
            ("tcp://[]:80", EmptyHost),
            ("tcp://host", MissingPort),
            ("tcp://host:", MissingPort),
            ("tcp://[::1]", MissingPort),
            ("tcp://[::1]:", MissingPort),
            ("tcp://host:65536", BadPort),
            ("tcp://host:-1", BadPort),
            ("tcp://host:+1", BadPort),
            ("tcp://host: 1", BadPort),
            ("tcp://host:99999999999", BadPort),
            ("tcp://host:80/path", BadPort),
            ("tcp://::1:80", BadHost),
            ("tcp://[::1:80", BadHost),
            ("tcp://[127.0.0.1]:80", BadHost),
            ("tcp://256.0.0.1:80", BadHost),
            ("tcp://1.2.3:80", BadHost),
            ("tcp://a..b:80", BadHost),
            ("tcp://a b:80", BadHost),
            ("tcp://user@host:80", BadHost),
            ("ipc://", EmptyPath),
            (&format!("ipc://{}", "p".repeat(108)), PathTooLong),
            (&format!("ipc://{}", "p".repeat(107)), UnsupportedScheme("ipc")),
            ("ipc:///run/x.sock", UnsupportedScheme("ipc")),
            ("inproc://", EmptyName),
            (&format!("inproc://{long}"), NameTooLong),
            ("inproc://name", UnsupportedScheme("inproc")),
        ] {
            assert_eq!(bind(address), Err(expected), "bind {address:?}");
            assert_eq!(connect(address), Err(expected), "connect {address:?}");
        }
    }

    #[test]
    fn n01_wildcard_and_port_zero_are_for_bind_only() {
        assert_eq!(connect("tcp://*:80"), Err(WildcardInConnect));
        assert_eq!(connect("tcp://host:0"), Err(PortZeroInConnect));
        assert!(bind("tcp://*:80").is_ok());
        assert!(bind("tcp://host:0").is_ok());
    }

    #[test]
    fn n05_other_spellings_of_one_endpoint_are_equal() {
        assert_eq!(connect("tcp://[::1]:80"), connect("tcp://[0:0::1]:080"));
        assert_ne!(connect("tcp://[::1]:80"), connect("tcp://[::1]:81"));
    }

    #[test]
    fn n01_the_real_port_is_reported() {
        assert_eq!(bind("tcp://*:0").expect("valid").with_port(4_711).to_string(), "tcp://*:4711");
        let address = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(Endpoint::from(address).to_string(), "tcp://127.0.0.1:9");
    }
}

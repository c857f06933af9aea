//! Socket types, who may talk to whom, and lane counts (W-26 to W-31).

/// The type that a socket announces in HELLO.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum SocketType {
    /// Codec and vectors only.
    Pair = 0,
    /// Publisher.
    Pub = 1,
    /// Subscriber.
    Sub = 2,
    /// Sends to one peer, chosen by weight.
    Dealer = 5,
    /// Sends to the peer that is named.
    Router = 6,
    /// Publisher that sees subscriptions.
    XPub = 9,
    /// Subscriber that sends subscriptions as records.
    XSub = 10,
}

impl SocketType {
    /// The type with this byte in HELLO; STREAM (11) never appears there.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Pair),
            1 => Some(Self::Pub),
            2 => Some(Self::Sub),
            5 => Some(Self::Dealer),
            6 => Some(Self::Router),
            9 => Some(Self::XPub),
            10 => Some(Self::XSub),
            _ => None,
        }
    }

    /// The name in READY.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pair => "PAIR",
            Self::Pub => "PUB",
            Self::Sub => "SUB",
            Self::Dealer => "DEALER",
            Self::Router => "ROUTER",
            Self::XPub => "XPUB",
            Self::XSub => "XSUB",
        }
    }

    /// W-28.
    pub const fn is_compatible(self, peer: Self) -> bool {
        match self {
            Self::Pair => matches!(peer, Self::Pair),
            Self::Dealer | Self::Router => matches!(peer, Self::Dealer | Self::Router),
            Self::Pub | Self::XPub => matches!(peer, Self::Sub | Self::XSub),
            Self::Sub | Self::XSub => matches!(peer, Self::Pub | Self::XPub),
        }
    }

    /// True for the types whose connections have lanes.
    pub const fn has_lanes(self) -> bool {
        matches!(self, Self::Dealer | Self::Router)
    }

    /// W-31: 2 for ROUTER with ROUTER, else 1.
    pub const fn lane_count(self, peer: Self) -> u8 {
        if matches!((self, peer), (Self::Router, Self::Router)) { 2 } else { 1 }
    }
}

//! Service records: the bytes that hosts exchange inside transport records (rules S-01 to S-81).
//!
//! ```text
//!  part 0   5A 4D | 01 | command u8 | flags u8 | body            head of 5 bytes, then the command's body
//!  part 1   metadata frame                                       present exactly when flag 0x01 is set
//!  last     payload envelope                                     present as the command requires
//! ```
//!
//! Decoded values borrow from the record. [`decode`] reads every command with all checks in the order of S-06;
//! [`ChannelRecord`] is the short way for the two commands that carry load, and [`Prefix`] the one to write them.

mod address;
mod admission;
mod channel;
mod command;
mod envelope;
mod fanout;
mod fault;
mod metadata;
mod outgoing;
mod reader;
mod record;
mod reply;
mod send_ready;
pub mod stream;
mod writer;

pub use address::{ActorAddress, BoundSession, Fence, HOPS_MAX, OperationKey, Reference, SpotAddress};
pub use admission::{
    Admission, Channels, ClientHello, MeshDescriptor, MeshExtension, Names, RejectReason, RuntimeState,
    ServerDescriptor, WEIGHT_MAX,
};
pub use channel::{ChannelLayout, ChannelRecord, KnownTexts, split_names};
pub use command::{CAPABILITY, Command, HEAD_BYTES, MAGIC, MAJOR, Sender};
pub use envelope::{
    CONTENT_JSON, CONTENT_OCTETS, Envelope, MULTIPART_CONTENT, MULTIPART_PACKET, Multipart, PAYLOAD_BYTES_MAX,
};
pub use fanout::{BEACON_BODY, BEACON_TOPIC, Event, Fanout, is_reserved_topic};
pub use fault::{FaultClass, Scope, ServiceFault};
pub use metadata::{METADATA_BYTES_MAX, Metadata, encode_metadata};
pub use outgoing::{ChannelRequest, ChannelSend, Prefix, ReplyRecord, encode_liveness};
pub use record::{Content, ServiceRecord, decode};
pub use reply::{ReplyHead, is_legal_pair, is_reply_to};
pub use send_ready::SendReady;

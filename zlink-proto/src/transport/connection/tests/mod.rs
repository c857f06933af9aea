//! A connection between a scripted socket and a scripted peer.

mod ending;
mod handshake;
mod malformed;
mod reading;
mod rig;
mod writing;

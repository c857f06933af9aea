//! The socket against its contract with connections; the peers are played by hand.

mod bytes;
mod deadlines;
mod duplicates;
mod flow;
mod requests;
mod rig;
mod select;
mod sets;

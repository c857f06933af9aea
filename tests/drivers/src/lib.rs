//! The suite that every driver passes, over real sockets: generic over the runtime, instantiated in `tests/`.

pub mod support;

pub mod cancel;
pub mod flow;
pub mod hostile;
pub mod hosts;
pub mod lifecycle;
pub mod order;
pub mod requests;

//! Runs the vector files of the specification against the codec, for tests and for `zlink decode --check`.

pub mod service;
pub mod wire;

/// A vector whose result is not the stated one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Its id, with the way of cutting its bytes where that matters.
    pub id: String,
    /// What the file says.
    pub expected: String,
    /// What the code does.
    pub got: String,
}

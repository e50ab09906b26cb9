//! The time that a packet spends in its generator.

use units::Picos;

/// Time between a packet's stamp in its generator and its arrival at the server's card, and between its
/// departure and its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GeneratorWait {
    /// The time of every packet: the generator's own queue, and its path.
    pub always: Picos,
    /// Packets that are stamped together wait for one another: evenly from none of it to all.
    pub batch: Picos,
}

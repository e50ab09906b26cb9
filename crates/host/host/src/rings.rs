//! Descriptor rings of network interfaces, through ethtool's netlink family.
//!
//! Source: Linux Documentation/networking/ethtool-netlink.rst (RINGS_GET).

use serde::Serialize;

use crate::error::FileError;
use crate::ethtool::{EthtoolNetlink, EthtoolRequest, payload_u32, request};

const RINGS: EthtoolRequest = EthtoolRequest { command: 15, header: 1 };
/// Attribute numbers of the reply.
const RX_MOST: u16 = 2;
const TX_MOST: u16 = 5;
const RX: u16 = 6;
const TX: u16 = 9;

/// Sizes of the descriptor rings of an interface, in descriptors of each queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rings {
    /// Current number of receive descriptors.
    pub rx: u32,
    /// Greatest number of receive descriptors that can be set.
    pub most_rx: u32,
    /// Current number of send descriptors.
    pub tx: u32,
    /// Greatest number of send descriptors that can be set.
    pub most_tx: u32,
}

/// Backend that reads the sizes of descriptor rings.
pub trait RingSizes {
    /// Reads the ring sizes of an interface, like `eth0`.
    ///
    /// # Errors
    /// If the interface does not exist, or its driver does not report them.
    fn rings(&self, interface: &str) -> Result<Rings, FileError>;
}

impl RingSizes for EthtoolNetlink {
    fn rings(&self, interface: &str) -> Result<Rings, FileError> {
        let reply = request("rings", interface, RINGS, Vec::new())?;
        let number = |kind: u16| payload_u32(&reply, kind).unwrap_or(0);
        Ok(Rings {
            rx: number(RX),
            most_rx: number(RX_MOST),
            tx: number(TX),
            most_tx: number(TX_MOST),
        })
    }
}

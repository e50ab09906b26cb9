//! Descriptor rings of network interfaces, through ethtool's netlink family.
//!
//! Source: Linux Documentation/networking/ethtool-netlink.rst (RINGS_GET).

use std::error::Error;
use std::iter::once;

use neli::consts::nl::NlmF;
use neli::consts::socket::NlFamily;
use neli::genl::{AttrTypeBuilder, Genlmsghdr, GenlmsghdrBuilder, Nlattr, NlattrBuilder};
use neli::nl::NlPayload;
use neli::router::synchronous::NlRouter;
use neli::types::{Buffer, GenlBuffer};
use neli::utils::Groups;
use serde::Serialize;

use crate::error::{FileError, Problem};
use units::narrow::fit;

const FAMILY: &str = "ethtool";
const VERSION: u8 = 1;
const RINGS_GET: u8 = 15;
/// Attribute numbers of request and reply.
const HEADER: u16 = 1;
const HEADER_DEVICE_NAME: u16 = 2;
const RX_MOST: u16 = 2;
const TX_MOST: u16 = 5;
const RX: u16 = 6;
const TX: u16 = 9;
/// An attribute that contains others.
const NESTED: bool = true;

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

/// Ring sizes through the kernel's netlink family of ethtool.
#[derive(Clone, Copy, Debug, Default)]
pub struct EthtoolNetlink;

impl RingSizes for EthtoolNetlink {
    fn rings(&self, interface: &str) -> Result<Rings, FileError> {
        let message = |error: Box<dyn Error>| {
            let text = error.to_string();
            // Error 95 (EOPNOTSUPP): the driver does not report rings.
            let text = if text.contains("95") || text.contains("not supported") {
                "its driver does not report them".to_owned()
            } else {
                text
            };
            FileError::new(format!("ethtool rings of {interface}"), Problem::Other(text))
        };
        request_rings(interface).map_err(message)
    }
}

fn attribute(
    kind: u16,
    nested: bool,
    payload: Vec<u8>,
) -> Result<Nlattr<u16, Buffer>, Box<dyn Error>> {
    let kind = AttrTypeBuilder::default().nla_type(kind).nla_nested(nested).build()?;
    Ok(NlattrBuilder::default().nla_type(kind).nla_payload(Buffer::from(payload)).build()?)
}

/// Sends the request of ring sizes, and parses the reply.
fn request_rings(interface: &str) -> Result<Rings, Box<dyn Error>> {
    let (socket, _) = NlRouter::connect(NlFamily::Generic, None, Groups::empty())?;
    let family = socket.resolve_genl_family(FAMILY)?;
    let header = Nlattr::<u16, Buffer>::clone(&attribute(HEADER, NESTED, device_name(interface))?);
    let request = GenlmsghdrBuilder::default()
        .cmd(RINGS_GET)
        .version(VERSION)
        .attrs(once(header).collect::<GenlBuffer<u16, Buffer>>())
        .build()?;
    let replies = socket.send::<_, _, u16, Genlmsghdr<u8, u16>>(
        family,
        NlmF::empty(),
        NlPayload::Payload(request),
    )?;
    for reply in replies {
        let reply = reply?;
        if let Some(payload) = reply.get_payload() {
            let attributes = payload.attrs().get_attr_handle();
            let number = |kind: u16| attributes.get_attr_payload_as::<u32>(kind).unwrap_or(0);
            let rings = Rings {
                rx: number(RX),
                most_rx: number(RX_MOST),
                tx: number(TX),
                most_tx: number(TX_MOST),
            };
            return Ok(rings);
        }
    }
    Err("no answer".into())
}

/// The nested attribute of a name: length, type, text and its end, padded to four bytes.
fn device_name(interface: &str) -> Vec<u8> {
    let length: u16 = fit(4 + interface.len() + 1);
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(HEADER_DEVICE_NAME.to_le_bytes());
    bytes.extend(interface.as_bytes());
    bytes.resize((usize::from(length)).next_multiple_of(4), 0);
    bytes
}

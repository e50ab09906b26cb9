//! Settings and counters of network interfaces, through ethtool's netlink family.
//!
//! Source: Linux Documentation/networking/ethtool-netlink.rst; numbers of commands and attributes:
//! include/uapi/linux/ethtool_netlink.h. Every user may send these requests.

use std::collections::BTreeSet;
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
const HEADER_DEVICE_NAME: u16 = 2;
/// An attribute that contains others.
pub(crate) const NESTED: bool = true;

/// Attributes of a request or reply.
pub(crate) type Attributes = GenlBuffer<u16, Buffer>;

/// A request: its command, and the number of the attribute that names the interface.
#[derive(Clone, Copy)]
pub(crate) struct EthtoolRequest {
    pub(crate) command: u8,
    pub(crate) header: u16,
}

const CHANNELS: EthtoolRequest = EthtoolRequest { command: 17, header: 1 };
const CHANNELS_RX: u16 = 6;
const CHANNELS_COMBINED: u16 = 9;
const PAUSE: EthtoolRequest = EthtoolRequest { command: 21, header: 1 };
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;
const RSS: EthtoolRequest = EthtoolRequest { command: 38, header: 1 };
const RSS_TABLE: u16 = 4;
const FEATURES: EthtoolRequest = EthtoolRequest { command: 11, header: 1 };
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;
const STATISTICS: EthtoolRequest = EthtoolRequest { command: 32, header: 2 };
const STATISTICS_GROUPS: u16 = 3;
const STATISTICS_GROUP: u16 = 4;
const GROUP_COUNTER: u16 = 4;
const BITSET_NO_MASK: u16 = 1;
const BITSET_SIZE: u16 = 2;
const BITSET_VALUE: u16 = 4;
/// Bit of the group of the MAC's counters, and their numbers: frames and octets sent and received.
const MAC_GROUP: u32 = 1 << 1;
const MAC_TX_FRAMES: u16 = 0;
const MAC_RX_FRAMES: u16 = 3;
const MAC_TX_OCTETS: u16 = 6;
const MAC_RX_OCTETS: u16 = 12;

/// Offloads that hand the kernel's stack several packets as one, or take apart what it sends.
const MERGING: [&str; 3] = ["rx-lro", "rx-gro-hw", "tx-tcp-segmentation"];

/// PAUSE frames (IEEE 802.3 annex 31B) of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PauseSettings {
    /// Whether the interface stops sending when it is asked to.
    pub rx: bool,
    /// Whether the interface asks its peer to stop when its buffer fills.
    pub tx: bool,
}

/// Frames and octets that the interface's MAC has counted: also those that the kernel never sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Frames received.
    pub rx_frames: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Octets sent.
    pub tx_octets: u64,
}

/// Backend that reads settings and counters of network interfaces, beside the sizes of their rings.
pub trait InterfaceSettings {
    /// Reads the number of receive queues of an interface, like `eth0`.
    ///
    /// # Errors
    /// If the interface does not exist, or its driver does not report them.
    fn receive_queues(&self, interface: &str) -> Result<u32, FileError>;

    /// Reads whether the interface sends and obeys PAUSE frames.
    ///
    /// # Errors
    /// As [`Self::receive_queues`].
    fn pause(&self, interface: &str) -> Result<PauseSettings, FileError>;

    /// Reads the queues among which the table of RSS spreads packets, ascending (Linux 6.3 or newer).
    ///
    /// # Errors
    /// As [`Self::receive_queues`].
    fn rss_queues(&self, interface: &str) -> Result<Vec<u32>, FileError>;

    /// Reads the active offloads after which packets of the kernel's stack are not those of the wire.
    ///
    /// # Errors
    /// As [`Self::receive_queues`].
    fn merging_offloads(&self, interface: &str) -> Result<Vec<String>, FileError>;

    /// Reads the counters of the MAC (Linux 5.13 or newer).
    ///
    /// # Errors
    /// As [`Self::receive_queues`].
    fn frames(&self, interface: &str) -> Result<FrameCounts, FileError>;
}

/// Interfaces through the kernel's netlink family of ethtool.
#[derive(Clone, Copy, Debug, Default)]
pub struct EthtoolNetlink;

impl InterfaceSettings for EthtoolNetlink {
    fn receive_queues(&self, interface: &str) -> Result<u32, FileError> {
        let reply = request("channels", interface, CHANNELS, Vec::new())?;
        let number = |kind: u16| payload_u32(&reply, kind).unwrap_or(0);
        Ok(number(CHANNELS_RX).saturating_add(number(CHANNELS_COMBINED)))
    }

    fn pause(&self, interface: &str) -> Result<PauseSettings, FileError> {
        let reply = request("pause", interface, PAUSE, Vec::new())?;
        let is_on = |kind: u16| {
            reply.get_attr_handle().get_attr_payload_as::<u8>(kind).is_ok_and(|value| value != 0)
        };
        Ok(PauseSettings { rx: is_on(PAUSE_RX), tx: is_on(PAUSE_TX) })
    }

    fn rss_queues(&self, interface: &str) -> Result<Vec<u32>, FileError> {
        let reply = request("RSS table", interface, RSS, Vec::new())?;
        let table = payload(&reply, RSS_TABLE).unwrap_or_default();
        let entries = table.chunks_exact(4).filter_map(|entry| entry.try_into().ok());
        let queues: BTreeSet<u32> = entries.map(u32::from_ne_bytes).collect();
        Ok(queues.into_iter().collect())
    }

    fn merging_offloads(&self, interface: &str) -> Result<Vec<String>, FileError> {
        let reply = request("offloads", interface, FEATURES, Vec::new())?;
        let active = payload(&reply, FEATURES_ACTIVE).unwrap_or_default();
        Ok(active_bits(&active).into_iter().filter(|it| MERGING.contains(&it.as_str())).collect())
    }

    fn frames(&self, interface: &str) -> Result<FrameCounts, FileError> {
        let groups = [
            nested_bytes(BITSET_NO_MASK, &[]),
            nested_bytes(BITSET_SIZE, &u32::BITS.to_ne_bytes()),
            nested_bytes(BITSET_VALUE, &MAC_GROUP.to_ne_bytes()),
        ];
        let what = "MAC counters";
        let groups = attribute(STATISTICS_GROUPS, NESTED, groups.concat())
            .map_err(|error| refusal(what, interface, error.as_ref()))?;
        let reply = request(what, interface, STATISTICS, vec![groups])?;
        let group = payload(&reply, STATISTICS_GROUP).unwrap_or_default();
        mac_counters(&group).ok_or_else(|| refusal(what, interface, &Silent))
    }
}

/// A driver without the requested values.
#[derive(Debug, thiserror::Error)]
#[error("its driver does not report them")]
struct Silent;

/// Counters of the MAC in the attributes of a group; `None` if the driver reports none.
fn mac_counters(group: &[u8]) -> Option<FrameCounts> {
    let counters = attributes(group).into_iter().filter(|(kind, _)| *kind == GROUP_COUNTER);
    let counters: Vec<(u16, u64)> = counters
        .flat_map(|(_, one)| attributes(one))
        .filter_map(|(kind, bytes)| Some((kind, u64::from_ne_bytes(bytes.try_into().ok()?))))
        .collect();
    let of = |wanted: u16| counters.iter().find(|(kind, _)| *kind == wanted).map(|(_, n)| *n);
    Some(FrameCounts {
        rx_frames: of(MAC_RX_FRAMES)?,
        rx_octets: of(MAC_RX_OCTETS)?,
        tx_frames: of(MAC_TX_FRAMES)?,
        tx_octets: of(MAC_TX_OCTETS)?,
    })
}

/// Names of the bits of a set that are 1.
fn active_bits(set: &[u8]) -> Vec<String> {
    let of_kind = |bytes, wanted: u16| {
        attributes(bytes).into_iter().filter(move |(kind, _)| *kind == wanted).map(|(_, it)| it)
    };
    let bits = of_kind(set, BITSET_BITS).flat_map(|bits| of_kind(bits, BIT));
    bits.filter_map(|bit| {
        let is_set = of_kind(bit, BIT_VALUE).next().is_some();
        let name = of_kind(bit, BIT_NAME).next().filter(|_| is_set)?;
        Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    })
    .collect()
}

/// Splits attributes into pairs of kind and payload: a length and a kind of two bytes each, then the
/// payload, padded to four bytes. What is cut short is left out.
fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while let [l0, l1, k0, k1, ..] = *bytes {
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let Some(payload) = bytes.get(4..length) else { break };
        // The two highest bits say that an attribute is nested or in network order.
        found.push((u16::from_ne_bytes([k0, k1]) & 0x3fff, payload));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn nested_bytes(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length: u16 = fit(4 + payload.len());
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(payload);
    bytes.resize(usize::from(length).next_multiple_of(4), 0);
    bytes
}

fn payload(reply: &Attributes, kind: u16) -> Option<Vec<u8>> {
    let handle = reply.get_attr_handle();
    handle.get_attribute(kind).map(|found| found.nla_payload().as_ref().to_vec())
}

/// A number of a reply; `None` if the driver does not report it.
pub(crate) fn payload_u32(reply: &Attributes, kind: u16) -> Option<u32> {
    reply.get_attr_handle().get_attr_payload_as::<u32>(kind).ok()
}

fn attribute(
    kind: u16,
    nested: bool,
    payload: Vec<u8>,
) -> Result<Nlattr<u16, Buffer>, Box<dyn Error>> {
    let kind = AttrTypeBuilder::default().nla_type(kind).nla_nested(nested).build()?;
    Ok(NlattrBuilder::default().nla_type(kind).nla_payload(Buffer::from(payload)).build()?)
}

/// Sends a request about an interface, and returns the attributes of the reply.
///
/// # Errors
/// If the interface does not exist, or its driver does not report what is asked.
pub(crate) fn request(
    what: &str,
    interface: &str,
    request: EthtoolRequest,
    more: Vec<Nlattr<u16, Buffer>>,
) -> Result<Attributes, FileError> {
    exchange(interface, request, more).map_err(|error| refusal(what, interface, error.as_ref()))
}

fn refusal(what: &str, interface: &str, error: &dyn Error) -> FileError {
    let text = error.to_string();
    // Error 95 (EOPNOTSUPP): the driver does not report them.
    let text = if text.contains("95") || text.contains("not supported") {
        Silent.to_string()
    } else {
        text
    };
    FileError::new(format!("ethtool {what} of {interface}"), Problem::Other(text))
}

fn exchange(
    interface: &str,
    request: EthtoolRequest,
    more: Vec<Nlattr<u16, Buffer>>,
) -> Result<Attributes, Box<dyn Error>> {
    let (socket, _) = NlRouter::connect(NlFamily::Generic, None, Groups::empty())?;
    let family = socket.resolve_genl_family(FAMILY)?;
    let header = attribute(request.header, NESTED, device_name(interface))?;
    let message = GenlmsghdrBuilder::default()
        .cmd(request.command)
        .version(VERSION)
        .attrs(once(header).chain(more).collect::<Attributes>())
        .build()?;
    let replies = socket.send::<_, _, u16, Genlmsghdr<u8, u16>>(
        family,
        NlmF::empty(),
        NlPayload::Payload(message),
    )?;
    for reply in replies {
        if let Some(payload) = reply?.get_payload() {
            return Ok(payload.attrs().iter().cloned().collect());
        }
    }
    Err("no answer".into())
}

/// The nested attribute of a name: length, type, text and its end, padded to four bytes.
fn device_name(interface: &str) -> Vec<u8> {
    nested_bytes(HEADER_DEVICE_NAME, &[interface.as_bytes(), &[0]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_mac_are_found_by_their_numbers() {
        let counter = |kind: u16, value: u64| {
            nested_bytes(GROUP_COUNTER, &nested_bytes(kind, &value.to_ne_bytes()))
        };
        let id = nested_bytes(2, &1_u32.to_ne_bytes());
        let group =
            [id, counter(0, 11), counter(3, 22), counter(4, 5), counter(6, 33), counter(12, 44)];
        let expected = FrameCounts { tx_frames: 11, rx_frames: 22, tx_octets: 33, rx_octets: 44 };
        assert_eq!(mac_counters(&group.concat()), Some(expected));
        assert_eq!(mac_counters(&group[..3].concat()), None, "without octets");
        assert_eq!(mac_counters(&group.concat()[..50]), None, "cut short");
    }

    #[test]
    fn only_bits_that_are_set_are_active() {
        let bit = |name: &str, is_set: bool| {
            let text = [name.as_bytes(), &[0]].concat();
            let mut parts = nested_bytes(BIT_NAME, &text);
            if is_set {
                parts.extend(nested_bytes(BIT_VALUE, &[]));
            }
            nested_bytes(BIT | 0x8000, &parts)
        };
        let bits = [bit("rx-gro", false), bit("rx-lro", true), bit("rx-gro-hw", true)].concat();
        let set = nested_bytes(BITSET_BITS | 0x8000, &bits);
        assert_eq!(active_bits(&set), ["rx-lro", "rx-gro-hw"]);
    }
}

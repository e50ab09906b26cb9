//! The report on the digests of a capture, as text and as JSON.

use super::connections::PduOrigin;
use dsa_client::statistics::{Reason, Statistics};
use nvme_tcp::conversation::Sender;
use nvme_tcp::negotiation::{EnabledDigests, Negotiation};
use nvme_tcp::pdu::{HeaderFault, PduKind};
use nvme_tcp::tally::{DigestBytes, DigestTally};
use nvme_tcp::verify::{DigestCheck, PduVerdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;

/// Most damages of a connection that are listed; further ones are only counted.
const MOST_LISTED: usize = 100;

/// Counts of the header digests, or of the data digests, of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestCounts {
    right: u64,
    wrong: u64,
    /// PDUs without such a digest, whose type and data allow one.
    absent: u64,
    tally: DigestTally,
}

impl DigestCounts {
    fn count(&mut self, check: DigestCheck, bytes: DigestBytes, could_have_one: bool) {
        match check {
            DigestCheck::Right => self.right += 1,
            DigestCheck::Wrong { .. } => self.wrong += 1,
            DigestCheck::Absent => self.absent += u64::from(could_have_one),
        }
        if check != DigestCheck::Absent {
            self.tally.count(bytes);
        }
    }
}

/// A wrong digest, or bytes that are not a PDU.
#[derive(Clone, Debug)]
pub struct Damage {
    sender: Sender,
    packet: u64,
    /// Offset in the bytes that the sender has sent.
    at: u64,
    what: String,
}

impl Damage {
    fn text(&self) -> String {
        let Self { packet, at, what, .. } = self;
        let sender = name(self.sender);
        format!("packet {packet}: {what} (byte {at} of the {sender}'s stream)")
    }

    fn to_json(&self) -> Value {
        json!({
            "packet": self.packet, "sender": name(self.sender), "stream_offset": self.at,
            "what": self.what,
        })
    }
}

fn name(sender: Sender) -> &'static str {
    match sender {
        Sender::Host => "host",
        Sender::Controller => "controller",
    }
}

/// The report on one connection.
pub struct ConnectionReport {
    host: SocketAddr,
    controller: SocketAddr,
    /// The terms that were observed at its opening.
    pub negotiation: Negotiation,
    kinds: BTreeMap<PduKind, u64>,
    bytes: u64,
    header: DigestCounts,
    data: DigestCounts,
    /// Number of bytes that the capture does not have.
    pub lost_bytes: u64,
    /// Bytes that do not belong to any PDU that was found.
    pub skipped_bytes: u64,
    /// Bytes of PDUs whose end the capture does not have.
    pub cut_bytes: u64,
    broken: u64,
    damages: Vec<Damage>,
}

impl ConnectionReport {
    /// The report on a connection without any PDU.
    pub fn new(host: SocketAddr, controller: SocketAddr) -> Self {
        Self {
            host,
            controller,
            negotiation: Negotiation::default(),
            kinds: BTreeMap::new(),
            bytes: 0,
            header: DigestCounts::default(),
            data: DigestCounts::default(),
            lost_bytes: 0,
            skipped_bytes: 0,
            cut_bytes: 0,
            broken: 0,
            damages: Vec::new(),
        }
    }

    /// Notes that the bytes where a PDU has to begin are not a PDU.
    pub fn note_broken(&mut self, origin: PduOrigin, at: u64, fault: HeaderFault) {
        self.broken += 1;
        self.list(origin, at, || format!("not a PDU: {fault}"));
    }

    fn list(&mut self, origin: PduOrigin, at: u64, what: impl FnOnce() -> String) {
        if self.damages.len() < MOST_LISTED {
            let PduOrigin { sender, packet, .. } = origin;
            self.damages.push(Damage { sender, packet, at, what: what() });
        }
    }

    fn count(&mut self, verdict: &PduVerdict<PduOrigin>) {
        let pdu = &verdict.pdu;
        *self.kinds.entry(pdu.kind).or_default() += 1;
        self.bytes += u64::from(pdu.bytes);
        let can = pdu.kind.has_digests();
        self.header.count(verdict.header, verdict.header_bytes, can);
        self.data.count(verdict.data, verdict.data_bytes, can && pdu.has_data());
        for (which, judged) in [("header", verdict.header), ("data", verdict.data)] {
            if let DigestCheck::Wrong { stated, computed } = judged {
                self.list(verdict.tag, verdict.at, || {
                    let kind = pdu.kind;
                    format!("{kind}: {which} digest {stated:#010x}, {computed:#010x} is right")
                });
            }
        }
    }

    fn pdus(&self) -> u64 {
        self.kinds.values().sum()
    }

    /// Digests that were agreed on and are absent, of headers and of data.
    fn missing(&self) -> [u64; 2] {
        let EnabledDigests { header, data } = self.negotiation.digests().unwrap_or_default();
        [if header { self.header.absent } else { 0 }, if data { self.data.absent } else { 0 }]
    }

    fn is_right(&self) -> bool {
        self.header.wrong + self.data.wrong + self.broken == 0 && self.missing() == [0, 0]
    }

    fn agreed(&self) -> &'static str {
        match self.negotiation.digests() {
            None => "its opening is not in the capture",
            Some(EnabledDigests { header: false, data: false }) => "no digests agreed",
            Some(EnabledDigests { header: true, data: false }) => "header digests agreed",
            Some(EnabledDigests { header: false, data: true }) => "data digests agreed",
            Some(EnabledDigests { header: true, data: true }) => "header and data digests agreed",
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{} -> {}  {}", self.host, self.controller, self.agreed())?;
        if self.negotiation.grants_unrequested() {
            writeln!(out, "  the controller grants digests that the host has not asked for")?;
        }
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
        writeln!(out, "  {} PDUs, {} bytes: {kinds}", self.pdus(), self.bytes)?;
        let [header, data] = self.missing();
        write_counts(out, "header digests", &self.header, header)?;
        write_counts(out, "data digests  ", &self.data, data)?;
        let bytes = [
            (self.lost_bytes, "bytes are not in the capture"),
            (self.skipped_bytes, "bytes belong to no PDU that was found"),
            (self.cut_bytes, "bytes are of PDUs whose end is not in the capture"),
        ];
        for (bytes, what) in bytes.into_iter().filter(|(bytes, _)| *bytes > 0) {
            writeln!(out, "  {bytes} {what}")?;
        }
        for damage in &self.damages {
            writeln!(out, "  {}", damage.text())?;
        }
        match self.damage_count() - self.damages.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "  and {more} more"),
        }
    }

    /// Number of all damages, listed or not.
    fn damage_count(&self) -> u64 {
        self.broken + self.header.wrong + self.data.wrong
    }

    fn to_json(&self) -> Value {
        let [header, data] = self.missing();
        let kinds: serde_json::Map<String, Value> =
            self.kinds.iter().map(|(kind, count)| (kind.to_string(), (*count).into())).collect();
        json!({
            "host": self.host.to_string(), "controller": self.controller.to_string(),
            "agreed": self.negotiation.digests().map(|agreed| {
                json!({ "header_digest": agreed.header, "data_digest": agreed.data })
            }),
            "grants_more_than_asked": self.negotiation.grants_unrequested(),
            "pdus": self.pdus(), "pdus_by_kind": kinds, "bytes": self.bytes,
            "header_digests": counts_json(&self.header, header),
            "data_digests": counts_json(&self.data, data),
            "lost_bytes": self.lost_bytes, "skipped_bytes": self.skipped_bytes,
            "cut_bytes": self.cut_bytes, "broken": self.broken,
            "damages": self.damages.iter().map(Damage::to_json).collect::<Vec<_>>(),
            "damages_not_listed": self.damage_count() - self.damages.len() as u64,
        })
    }
}

fn write_counts(
    out: &mut impl Write,
    label: impl Display,
    counts: &DigestCounts,
    missing: u64,
) -> io::Result<()> {
    let DigestCounts { right, wrong, absent, tally } = counts;
    let DigestTally { device, cpu, both, .. } = tally;
    write!(out, "  {label}  right {right}, wrong {wrong}, absent {}", absent - missing)?;
    if missing > 0 {
        write!(out, ", missing {missing} that were agreed on")?;
    }
    write!(out, "; computed by device {device}, CPU {cpu}")?;
    if *both > 0 {
        write!(out, ", both {both}")?;
    }
    writeln!(out)
}

fn counts_json(counts: &DigestCounts, missing: u64) -> Value {
    let DigestCounts { right, wrong, absent, tally } = counts;
    json!({
        "right": right, "wrong": wrong, "absent": absent - missing, "missing": missing,
        "by_device": tally.device, "by_cpu": tally.cpu, "by_both": tally.both,
        "device_bytes": tally.bytes.device_bytes, "cpu_bytes": tally.bytes.cpu_bytes,
    })
}

/// The report on a capture.
#[derive(Default)]
pub struct DigestReport {
    /// Reports on the NVMe/TCP connections.
    pub connections: Vec<ConnectionReport>,
    /// Number of other TCP connections.
    pub others: u64,
    /// The packet in which the file ends, if it is cut off.
    pub cut_in: Option<String>,
    /// Deviations of the file from its format, if there are any.
    pub deviations: Option<String>,
    /// A sentence about packets in tunnels, if there are any.
    pub tunnels: Option<String>,
}

impl DigestReport {
    /// Counts a PDU by the verdict on it.
    pub fn count(&mut self, verdict: &PduVerdict<PduOrigin>) {
        self.connections[verdict.tag.connection].count(verdict);
    }

    /// Whether no digest is wrong or missing, and no PDU is broken.
    pub fn is_right(&self) -> bool {
        self.connections.iter().all(ConnectionReport::is_right)
    }

    /// Writes the report as text.
    pub fn write(&self, statistics: &Statistics, out: &mut impl Write) -> io::Result<()> {
        for connection in &self.connections {
            connection.write(out)?;
        }
        let sum =
            |count: fn(&ConnectionReport) -> u64| self.connections.iter().map(count).sum::<u64>();
        let right = sum(|it| it.header.right + it.data.right);
        let wrong = sum(|it| it.header.wrong + it.data.wrong);
        let missing = sum(|it| it.missing().iter().sum());
        writeln!(out, "digests: {right} right, {wrong} wrong, {missing} missing")?;
        let why: Vec<String> = reasons(statistics)
            .map(|(reason, count)| format!("{} {count}", reason.words()))
            .collect();
        if !why.is_empty() {
            writeln!(out, "why the CPU: {}", why.join(", "))?;
        }
        if self.others > 0 {
            writeln!(out, "other TCP connections: {}", self.others)?;
        }
        if let Some(cut) = &self.cut_in {
            writeln!(out, "note: the file ends within {cut}")?;
        }
        for note in self.deviations.iter().chain(&self.tunnels) {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }

    /// Formats the report as JSON.
    pub fn to_json(&self, statistics: &Statistics) -> Value {
        let why: serde_json::Map<String, Value> = reasons(statistics)
            .map(|(reason, count)| (reason.words().into(), count.into()))
            .collect();
        json!({
            "right": self.is_right(),
            "connections": self.connections.iter().map(ConnectionReport::to_json).collect::<Vec<_>>(),
            "other_connections": self.others, "cut_in": self.cut_in, "why_cpu": why,
        })
    }
}

/// Operations that the CPU did, by the reason why no device did them.
fn reasons(statistics: &Statistics) -> impl Iterator<Item = (Reason, u64)> {
    let counted = |reason| (reason, statistics.by_reason(reason).count);
    Reason::ALL.into_iter().map(counted).filter(|(_, count)| *count > 0)
}

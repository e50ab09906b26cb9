//! The packets of a file as tshark finds them.

use std::path::Path;
use std::process::Command;

use super::packet::{Packet, TsharkTime};

/// Wireshark's numbers of encapsulations (`wiretap/wtap.h`), and the bytes of each before the IP packet.
const ENCAPSULATIONS: [(u32, usize); 8] =
    [(1, 14), (7, 0), (15, 4), (25, 16), (129, 0), (130, 0), (174, 4), (210, 20)];
const FIELDS: [&str; 7] = [
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "frame.interface_id",
    "frame.encap_type",
    "udp.srcport",
    "eth.fcs",
];
const PICOS_PER_NANO: i128 = 1_000;
const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// A packet as tshark prints it.
pub struct Row {
    link_header_bytes: Option<usize>,
    time_ns: Option<[i128; 2]>,
    original_bytes: usize,
    captured_bytes: usize,
    source_port: Option<u16>,
    has_fcs: bool,
}

/// The packets of a file, or tshark's refusal of it.
pub fn packets(path: &Path) -> Result<Vec<Row>, String> {
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"])
        .args(FIELDS.iter().flat_map(|field| ["-e", field]))
        .arg("-r")
        .arg(path)
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("tshark (package tshark): {error}"));
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let lines = String::from_utf8(output.stdout).expect("numbers are ASCII");
    let rows = lines.lines().map(|line| line.split(';').collect());
    // In a pcapng file, events and custom blocks are frames to tshark, which are of no interface.
    let is_pcap = path.extension().is_some_and(|extension| extension == "pcap");
    let packets = rows.filter(|fields: &Vec<&str>| is_pcap || !fields[3].is_empty());
    Ok(packets.map(|fields| Row::parse(&fields)).collect())
}

impl Row {
    fn parse(fields: &[&str]) -> Self {
        let [time, length, captured, _, encapsulation, port, fcs] = fields[..] else {
            panic!("tshark printed {fields:?}")
        };
        let encapsulation: u32 = encapsulation.parse().expect("is a number");
        Self {
            link_header_bytes: ENCAPSULATIONS
                .iter()
                .find(|(number, _)| *number == encapsulation)
                .map(|(_, bytes)| *bytes),
            time_ns: (!time.is_empty()).then(|| parse_time(time)),
            original_bytes: length.parse().expect("is a number"),
            captured_bytes: captured.parse().expect("is a number"),
            source_port: port.parse().ok(),
            has_fcs: !fcs.is_empty(),
        }
    }

    /// Compares the row with what is meant.
    ///
    /// # Errors
    /// How they differ.
    pub fn check(&self, meant: &Packet) -> Result<(), String> {
        let lengths = (self.original_bytes, self.captured_bytes);
        if lengths != (meant.original_bytes, meant.captured_bytes) {
            return Err(format!("tshark has lengths {lengths:?} of {meant:?}"));
        }
        if self.link_header_bytes != meant.link_header_bytes {
            return Err(format!("tshark has {:?} bytes before {meant:?}", self.link_header_bytes));
        }
        // Of a packet that was cut, tshark may show neither.
        let is_whole = meant.captured_bytes == meant.original_bytes;
        if let (Some(port), true) = (meant.source_port, is_whole)
            && (self.source_port != Some(port) || self.has_fcs != (meant.fcs_bytes == 4))
        {
            let (port, has_fcs) = (self.source_port, self.has_fcs);
            return Err(format!("tshark has port {port:?} and FCS {has_fcs} of {meant:?}"));
        }
        if !self.has_time(meant) {
            return Err(format!("tshark has {:?} ns since 1970 of {meant:?}", self.time_ns));
        }
        Ok(())
    }

    fn has_time(&self, meant: &Packet) -> bool {
        let (Some(times_ns), Some(meant_ps)) = (self.time_ns, meant.time_ps) else {
            return self.time_ns.is_none() && meant.time_ps.is_none();
        };
        let unit_ns = match meant.tshark_time {
            TsharkTime::Nanoseconds => 1,
            TsharkTime::Seconds => NANOS_PER_SECOND,
            TsharkTime::Wrong => return true,
        };
        let meant_units = meant_ps.div_euclid(unit_ns * PICOS_PER_NANO);
        times_ns.iter().any(|time_ns| time_ns.div_euclid(unit_ns) == meant_units)
    }
}

/// Nanoseconds of a printed time. Its fraction may be a second or more. Before 1970 there are two readings:
/// tshark 4.0 adds the fraction to the seconds, in other versions it may be a fraction of the number.
fn parse_time(text: &str) -> [i128; 2] {
    let (seconds, nanos) = text.split_once('.').unwrap_or_else(|| panic!("tshark printed {text}"));
    let whole_ns = seconds.parse::<i128>().expect("is a number") * NANOS_PER_SECOND;
    let nanos: i128 = nanos.parse().expect("is a number");
    [whole_ns + nanos, if text.starts_with('-') { whole_ns - nanos } else { whole_ns + nanos }]
}

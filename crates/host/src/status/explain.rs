//! What users of such tools ask, answered for the machine at hand.

use serde::Serialize;

use super::{DdioState, IoWays, Status};
use crate::cpu::Proof;
use crate::tune::ways_in_words;

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What people ask.
    pub question: &'static str,
    /// The answer here.
    pub answer: String,
}

/// Answers for this machine.
#[must_use]
pub fn explain(status: &Status) -> Vec<Answer> {
    let answer = |question, answer| Answer { question, answer };
    vec![
        answer("How does I/O data reach the cache here?", path(status)),
        answer("Why does a control do nothing?", no_effect(status)),
        answer("Which ways does DDIO use, and does it obey CAT?", ways(status)),
        answer("What do the PCIe events mean?", events(status)),
        answer("Why are counts wrong or negative?", counts(status)),
        answer("Why is memory traffic missing?", memory(status)),
        answer("How many slices are there, and which is near a core?", slices(status)),
        answer("How is DDIO turned off, for persistent memory for instance?", off(status)),
    ]
}

fn unknown() -> String {
    "This CPU model is not in the table of generations, so nothing can be said about its I/O path."
        .into()
}

fn path(status: &Status) -> String {
    let Some(generation) = &status.generation else { return unknown() };
    format!("{}: {}. (Source: {})", generation.name, generation.io_path, generation.source)
}

fn no_effect(status: &Status) -> String {
    let Some(generation) = &status.generation else { return unknown() };
    let rule = "A control counts as effective only after it reads back as written and the hit rate of \
                device writes has changed: `tune … --apply --verify` measures both.";
    let known = |name: &str, proof: Option<Proof>| match proof {
        Some(Proof::Effective) => format!("{name}: effective on {}.", generation.name),
        Some(Proof::NoEffect) => format!(
            "{name}: takes writes on {} and changes nothing; that is the hardware, not your setting.",
            generation.name
        ),
        Some(Proof::Unknown) => format!("{name}: nobody has published a measurement."),
        None => format!("{name}: not known to exist on {}.", generation.name),
    };
    let ways = generation.ways_register.as_ref().map(|register| register.proof);
    let port = generation.port_switch.as_ref().map(|switch| switch.proof);
    format!(
        "{} {} {rule}",
        known("Mask of I/O ways (MSR 0xc8b)", ways),
        known("Switch of root ports (perfctrlsts_0)", port)
    )
}

fn ways(status: &Status) -> String {
    let of_socket = |(id, ways): (u32, &IoWays)| {
        format!("socket {id}: {} (mask {:#x})", ways_in_words(ways.mask, ways.of_ways), ways.mask)
    };
    let known = status.sockets.iter().filter_map(|s| s.io_ways.as_ref().map(|ways| (s.id, ways)));
    let mut parts: Vec<String> = known.map(of_socket).collect();
    if parts.is_empty() {
        parts.push("no register of this machine tells the ways of I/O".into());
    }
    if let Some(caches) = &status.caches {
        for resource in &caches.resources {
            if resource.shareable != 0 {
                parts.push(format!(
                    "resctrl says that {:#x} is shared with I/O",
                    resource.shareable
                ));
            }
        }
        let overlapping: Vec<&str> = caches
            .groups
            .iter()
            .filter(|group| !group.shared_with_io.is_empty())
            .map(|group| group.group.shown())
            .collect();
        if !overlapping.is_empty() {
            parts.push(format!("groups in these ways: {}", overlapping.join(", ")));
        }
    }
    let obeys = "CAT confines cores, not devices: a group without these ways keeps its data away from \
                 I/O, and I/O keeps its ways whatever the groups are. Only I/O classes of service \
                 (io_alloc, I/O RDT) confine devices";
    format!("{}. {obeys}.", parts.join("; "))
}

fn events(status: &Status) -> String {
    let intel = status.generation.as_ref().is_some_and(super::Generation::is_intel);
    if !intel {
        return "There are no public events for hits and misses of devices on this CPU; DRAM bandwidth is \
                the indirect sign: data that reaches the cache is not read from memory."
            .into();
    }
    "PCIRdCur is a device's read of a line (packets being sent); ItoM is a device's write of a whole \
     line (packets received). Hit means that the line was in the LLC already. A write miss is no \
     failure: with DDIO it allocates a line, without it goes to memory. Partial writes (completions, \
     small descriptors) are events of their own, and each counts as 64 bytes."
        .into()
}

fn counts(_: &Status) -> String {
    "Hits and misses are meaningful together only from the same window: `monitor` counts both in one \
     group and prints the window. Tools that count one after the other and subtract can get negative \
     numbers. On Skylake and Cascade Lake older event files put the opcode filter into the wrong \
     half of config1, which counts everything. If counters are shared with another tool, the share of \
     the window that they ran is printed."
        .into()
}

fn memory(status: &Status) -> String {
    let off = status.ports().filter(|port| port.ddio == Some(DdioState::Off)).count();
    let on = status.ports().filter(|port| port.ddio == Some(DdioState::On)).count();
    let here = match (on, off) {
        (0, 0) => String::new(),
        (on, 0) => format!(" Here DDIO is on at all {on} ports that tell."),
        (on, off) => format!(" Here DDIO is on at {on} and off at {off} ports."),
    };
    format!(
        "What devices write and cores read soon after never leaves the LLC, so DRAM shows less traffic \
         than the NIC. It appears in DRAM when buffers outgrow the ways of I/O: write misses then come \
         with DRAM writes of evicted lines.{here}"
    )
}

fn slices(status: &Status) -> String {
    let count = match status.sockets.iter().find_map(|socket| socket.slices) {
        Some(slices) => format!("{slices} on each socket, by their counter boxes."),
        None => "Unknown: the kernel shows no counter boxes of slices.".to_owned(),
    };
    format!(
        "{count} Nearness follows from the core's place on ring or mesh and is not in any register; it \
         has to be measured, by latency or by the boxes' look-up counters. Published tables differ for \
         single cores; measured latencies decide."
    )
}

fn off(status: &Status) -> String {
    let Some(generation) = &status.generation else { return unknown() };
    let device =
        status.ports().find(|port| port.ddio.is_some()).and_then(|port| port.devices.first());
    let per_port = match (&generation.port_switch, device) {
        (Some(switch), Some(device)) if switch.proof == Proof::Effective => format!(
            "At one root port: `skipline-host tune ddio off --device {} --apply`. ",
            device.bdf
        ),
        (Some(_), _) => "The switch of root ports is not known to work here. ".to_owned(),
        (None, _) => "There is no known switch at root ports. ".to_owned(),
    };
    format!("{per_port}For the whole machine: {}.", generation.firmware_switch_in_words())
}

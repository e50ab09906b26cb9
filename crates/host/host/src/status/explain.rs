//! Answers the questions that users of such tools ask, for this machine.

use serde::Serialize;

use super::{DdioState, HostStatus, IoWays};
use crate::controls::describe_ways;
use crate::cpu::{PackageId, Proof, WriteDestination};
use crate::resctrl::IoAlloc;

/// A frequent question and its answer for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Question, as it is shown to the user.
    pub question: &'static str,
    /// The answer for this machine.
    pub answer: String,
}

/// Answers all questions for a machine with this status.
#[must_use]
pub fn explain(status: &HostStatus) -> Vec<Explanation> {
    let answer = |question, answer| Explanation { question, answer };
    vec![
        answer("How does I/O data reach the cache here?", describe_path(status)),
        answer("Why does a control do nothing?", describe_effects(status)),
        answer("Which ways does DDIO use, and does it obey CAT?", describe_io_ways(status)),
        answer("What do the PCIe events mean?", describe_events(status)),
        answer("Why are counts wrong or negative?", describe_counts(status)),
        answer("Why is memory traffic missing?", describe_memory_traffic(status)),
        answer("How many slices are there, and which is near a core?", describe_slices(status)),
        answer(
            "How is DDIO turned off, for persistent memory for instance?",
            describe_switching_off(status),
        ),
    ]
}

fn unknown_model() -> String {
    "This CPU model is not in the table of generations, so nothing can be said about its I/O path."
        .into()
}

fn describe_path(status: &HostStatus) -> String {
    let Some(generation) = &status.generation else { return unknown_model() };
    format!("{}: {}. (Source: {})", generation.name, generation.io_path, generation.source)
}

fn describe_effects(status: &HostStatus) -> String {
    let Some(generation) = &status.generation else { return unknown_model() };
    let rule = if generation.is_intel() {
        "A control counts as effective only after it reads back as written and the hit rate of device \
         writes has changed: `tune … --apply --verify` measures both."
    } else {
        "A control counts as effective only after it reads back as written and hit rates have changed; \
         this CPU has no public events for these, so only the read-back and DRAM bandwidth under load \
         tell."
    };
    let known = |name: &str, proof: Option<Proof>| match proof {
        Some(Proof::Effective) => format!("{name}: effective on {}.", generation.name),
        Some(Proof::NoEffect) => format!(
            "{name}: measured without effect on hit rates on {}, whatever it reads back.",
            generation.name
        ),
        Some(Proof::ExpectedNoEffect) => format!(
            "{name}: not measured on {}, and without effect on the generation before it.",
            generation.name
        ),
        Some(Proof::Unknown) => {
            format!("{name}: no measurement on {} is published.", generation.name)
        }
        None => format!("{name}: not known to exist on {}.", generation.name),
    };
    let ways = generation.ways_register.as_ref().map(|register| register.proof);
    let port = generation.port_switch.as_ref().map(|switch| switch.proof);
    let rdt = match (&generation.io_rdt, io_alloc(status)) {
        (None, _) => String::new(),
        (Some(_), Some(IoAlloc::On { .. } | IoAlloc::Off)) => {
            " io_alloc: this kernel offers it (`tune io-alloc`).".to_owned()
        }
        (Some(control), _) => format!(" Not offered by this kernel or CPU: {control}."),
    };
    format!(
        "{} {}{rdt} {rule}",
        known("Mask of I/O ways (MSR 0xc8b)", ways),
        known("Switch of root ports (perfctrlsts_0)", port)
    )
}

fn io_alloc(status: &HostStatus) -> Option<&IoAlloc> {
    status.caches.as_ref()?.resources.iter().find_map(|resource| resource.io_alloc.as_ref())
}

fn writes_go_to(status: &HostStatus) -> Option<WriteDestination> {
    status.generation.as_ref().map(|generation| generation.writes_go_to)
}

fn describe_io_ways(status: &HostStatus) -> String {
    if status.generation.is_none() {
        return unknown_model();
    }
    if writes_go_to(status) == Some(WriteDestination::Memory) {
        return "None: writes of devices do not allocate in the L3 of this CPU, so its CAT groups and \
                I/O do not meet."
            .into();
    }
    let of_socket = |(id, ways): (PackageId, &IoWays)| {
        let doubt = match ways.proof {
            Proof::Effective => "",
            Proof::NoEffect => ", a register without effect here",
            Proof::ExpectedNoEffect => ", a register without effect on the generation before",
            Proof::Unknown => ", whether it has an effect here is not published",
        };
        let words = describe_ways(ways.mask, ways.of_ways);
        format!("socket {id}: {words} (mask {:#x}{doubt})", ways.mask)
    };
    let known = status.sockets.iter().filter_map(|s| s.io_ways.as_ref().map(|ways| (s.id, ways)));
    let mut parts: Vec<String> = known.map(of_socket).collect();
    if parts.is_empty() {
        let path = status.generation.as_ref().map_or("", |generation| &generation.io_path);
        parts.push(format!(
            "no register of this machine tells the ways of I/O, or none could be read; {path}"
        ));
    }
    match io_alloc(status) {
        Some(IoAlloc::On { masks }) => {
            let masks: Vec<String> =
                masks.iter().map(|(cache, mask)| format!("{mask:#x} of cache {cache}")).collect();
            parts.push(format!("io_alloc confines I/O to {}", masks.join(", ")));
        }
        Some(IoAlloc::Off) => parts.push("io_alloc is off: I/O has no mask of its own".into()),
        _ => {}
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
            .map(|group| group.group.display_name())
            .collect();
        if !overlapping.is_empty() {
            parts.push(format!("groups in these ways: {}", overlapping.join(", ")));
        }
    }
    let obeys = "CAT confines cores, not devices: a group without the ways of I/O keeps its data away \
                 from I/O, and I/O keeps its ways whatever the groups are. Only I/O classes of service \
                 (io_alloc, I/O RDT) confine devices";
    format!("{}. {obeys}.", parts.join("; "))
}

fn describe_events(status: &HostStatus) -> String {
    if status.generation.is_none() {
        return unknown_model();
    }
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

fn describe_counts(status: &HostStatus) -> String {
    if status.generation.is_none() {
        return unknown_model();
    }
    if !status.generation.as_ref().is_some_and(super::Generation::is_intel) {
        return "Bandwidth is a count divided by the time that the counters really ran, which `monitor` \
                prints with every window. If counters are shared with another tool, they are scaled, and \
                the share of the window that they ran is printed."
            .into();
    }
    "Hits and misses are meaningful together only from the same window: `monitor` counts both in one \
     group and prints the window. Tools that count one after the other and subtract can get negative \
     numbers. If counters are shared with another tool, the share of the window that they ran is \
     printed."
        .to_owned()
        + filter_trap(status)
}

fn filter_trap(status: &HostStatus) -> &'static str {
    let filtered = ["Skylake", "Cascade Lake", "Cooper Lake"];
    match &status.generation {
        Some(generation) if filtered.contains(&generation.name.as_str()) => {
            " Older event files for this CPU put the opcode filter into the wrong half of config1, which \
             counts everything."
        }
        _ => "",
    }
}

fn describe_memory_traffic(status: &HostStatus) -> String {
    if status.generation.is_none() {
        return unknown_model();
    }
    if writes_go_to(status) == Some(WriteDestination::Memory) {
        return "It should not be: writes of devices go to memory here, so DRAM sees at least the traffic \
                of the NIC. Reads by devices can still come out of the CPU's caches."
            .into();
    }
    if writes_go_to(status) == Some(WriteDestination::Steered) {
        return "Writes with a steering tag stay in the L3 until its ways for I/O are full; all other \
                writes of devices go to memory, and DRAM shows them."
            .into();
    }
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

fn describe_slices(status: &HostStatus) -> String {
    if status.generation.as_ref().is_some_and(|generation| !generation.is_intel()) {
        let caches: usize = status.sockets.iter().map(|socket| socket.caches.len()).sum();
        return format!(
            "This machine has {caches} last-level cache(s), each near to the cores that share it. Their \
             slices have no public counters; only timing can tell them apart: `skipline-host slices map \
             --oracle timing --slices N`."
        );
    }
    let count = match status.sockets.iter().find_map(|socket| socket.slices) {
        Some(slices) => format!("{slices} on each socket, by their counter boxes."),
        None => "Unknown: the kernel shows no counter boxes of slices.".to_owned(),
    };
    format!(
        "{count} Nearness follows from the core's position on ring or mesh and is not in any register; it \
         has to be measured: `skipline-host slices map` finds the slice of each line by the boxes' look-up \
         counters, `skipline-host slices latency` how far slices are. Published tables differ for single \
         cores; measured latencies decide."
    )
}

fn describe_switching_off(status: &HostStatus) -> String {
    let Some(generation) = &status.generation else { return unknown_model() };
    let device =
        status.ports().filter(|port| port.ddio.is_some()).find_map(|port| port.devices.first());
    let per_port = match (&generation.port_switch, device) {
        (Some(switch), Some(device)) if switch.proof == Proof::Effective => format!(
            "At one root port: `skipline-host tune ddio off --device {} --apply`. ",
            device.bdf
        ),
        (Some(switch), None) if switch.proof == Proof::Effective => {
            "No device is below a root port that is known to have the switch. ".to_owned()
        }
        (Some(_), Some(device)) => format!(
            "At one root port: `skipline-host tune ddio off --unmeasured --device {} --apply --verify`; a \
             datasheet describes the switch, and no measurement of it on {} is published. ",
            device.bdf, generation.name
        ),
        (Some(_), None) => "No device is below a root port that has the switch. ".to_owned(),
        (None, _) => "There is no known switch at root ports. ".to_owned(),
    };
    let whole = format!("For the whole machine: {}.", generation.describe_firmware_switch());
    match (generation.writes_go_to, io_alloc(status)) {
        (WriteDestination::Memory, _) => {
            "There is nothing to turn off: writes of devices go to memory here.".into()
        }
        (WriteDestination::Steered, _) => format!(
            "Only writes with a steering tag reach the L3, and `skipline-host tune io-alloc 0x1 --apply` \
             confines them to one way where the kernel has io_alloc. {whole}"
        ),
        (WriteDestination::Llc, Some(IoAlloc::On { .. } | IoAlloc::Off)) => format!(
            "{per_port}`skipline-host tune io-alloc 0x1 --apply` confines them to one way. {whole}"
        ),
        (WriteDestination::Llc, _) => format!("{per_port}{whole}"),
    }
}

//! Does `status` report every machine as it is?

use host::Host;
use host::pci::LinkStatus;
use host::resctrl::IoAlloc;
use host::status::{DdioState, HostStatus, PortStatus, explain};
use host::tune::DEFAULT_STATE;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::generated::expected::Switch;
use crate::generated::{HeldLock, Spec, cases, spec};

fn switch(state: Option<DdioState>) -> Switch {
    match state {
        None => Switch::None,
        Some(DdioState::On) => Switch::On,
        Some(DdioState::Off) => Switch::Off,
        Some(DdioState::NoResponse) => Switch::NoResponse,
        Some(DdioState::Unread) => Switch::Unavailable,
    }
}

/// Speed code and width.
fn link(link: &LinkStatus) -> [u32; 2] {
    let speeds = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
    let code = speeds.iter().position(|speed| Some(*speed) == link.speed_gts);
    [code.map_or(0, |code| u32::try_from(code).expect("few speeds") + 1), link.width]
}

fn check_sockets(spec: &Spec, status: &HostStatus) -> Result<(), TestCaseError> {
    prop_assert_eq!(status.sockets.len(), spec.reachable().len());
    for (number, socket) in spec.reachable().into_iter().zip(&status.sockets) {
        prop_assert_eq!(socket.id.0, number);
        prop_assert_eq!(socket.cores, spec.cores(number));
        let cpus: Vec<u32> = socket.cpus.iter().map(|cpu| cpu.0).collect();
        prop_assert_eq!(cpus, spec.cpus(number));
        let caches: Vec<_> =
            socket.caches.iter().map(|cache| (cache.id, cache.ways, cache.size_bytes)).collect();
        let size = u64::from(spec.ways) << 20;
        let ways = spec.ways_of(number);
        let dies = (0..spec.dies).filter(|_| spec.has_llc(number));
        let expected: Vec<_> = dies.map(|die| (number * spec.dies + die, ways, size)).collect();
        prop_assert_eq!(caches, expected);
        let (io_ways, masks) = (socket.io_ways.as_ref(), spec.io_ways(number as usize));
        prop_assert_eq!(io_ways.map(|ways| ways.mask), masks, "socket {}", number);
        prop_assert!(io_ways.is_none_or(|it| it.of_ways == ways));
        let uncore = socket.uncore.as_ref();
        let clock =
            uncore.map(|range| [range.least_mhz, range.most_mhz, range.now_mhz.unwrap_or(0)]);
        prop_assert_eq!(clock, spec.uncore_clock());
        let pages: Vec<_> = socket.hugepages.iter().map(|size| [size.pages, size.free]).collect();
        prop_assert_eq!(pages, vec![spec.huge_pages_of(number)]);
        let slices = spec.part().slice_unit.filter(|_| spec.boxes.is_none()).map(|_| 4);
        prop_assert_eq!(socket.slices, slices);
    }
    Ok(())
}

fn check_ports(spec: &Spec, status: &HostStatus) -> Result<(), TestCaseError> {
    let mut expected = spec.expected_ports();
    let at_sockets = status
        .sockets
        .iter()
        .flat_map(|socket| socket.ports.iter().map(move |port| (Some(socket.id.0), port)));
    let elsewhere = status.elsewhere.iter().map(|port| (None, port));
    for (socket, port) in at_sockets.chain(elsewhere) {
        let PortStatus { port: Some(bdf), ddio, devices, .. } = port else {
            return Err(TestCaseError::fail(format!(
                "nothing is part of the root complex: {port:?}"
            )));
        };
        if spec.orphaned_switches().contains(&bdf.to_string()) {
            continue;
        }
        let Some(wanted) = expected.remove(&bdf.to_string()) else {
            return Err(TestCaseError::fail(format!("{bdf} is no port to show: {port:?}")));
        };
        prop_assert_eq!(switch(*ddio), wanted.switch, "{}", bdf);
        prop_assert_eq!(socket, wanted.socket, "{}", bdf);
        let found: Vec<String> = devices.iter().map(|device| device.bdf.to_string()).collect();
        prop_assert_eq!(found, wanted.devices, "{}", bdf);
        if let Some(first) = devices.first() {
            let found = first.link.as_ref().map(link);
            prop_assert_eq!(found, wanted.link, "{}", first.bdf);
        }
    }
    prop_assert!(expected.is_empty(), "not shown: {:?}", expected);
    Ok(())
}

fn check_groups(spec: &Spec, status: &HostStatus) -> Result<(), TestCaseError> {
    prop_assert_eq!(status.caches.is_some(), spec.groups.is_some());
    let (Some(caches), Some(groups)) = (&status.caches, &spec.groups) else { return Ok(()) };
    prop_assert_eq!(caches.groups.len(), groups.groups.len());
    for (index, status) in caches.groups.iter().enumerate() {
        let name = if index == 0 { String::new() } else { format!("group{index}") };
        prop_assert_eq!(&status.group.name, &name);
        let masks: Vec<u64> = status.group.masks[0].masks.iter().map(|(_, mask)| *mask).collect();
        prop_assert_eq!(&masks, &groups.groups[index]);
        prop_assert_eq!(&status.shared_with_io, &spec.shared_with_io(index));
        prop_assert_eq!(&status.group.cpus, &index.to_string());
    }
    let [resource] = caches.resources.as_slice() else {
        return Err(TestCaseError::fail("one resource"));
    };
    prop_assert_eq!(resource.all_ways, groups.all_ways);
    prop_assert_eq!(resource.shareable, groups.shareable);
    prop_assert_eq!(resource.least_bits, groups.least_bits);
    prop_assert_eq!(resource.sparse, groups.sparse);
    let told = resource.io_alloc.as_ref().map(|state| match state {
        IoAlloc::On { masks } => Some(masks.iter().map(|(_, mask)| *mask).collect()),
        _ => None,
    });
    prop_assert_eq!(&told, &groups.io_alloc);
    Ok(())
}

/// Checks that every item which is not shown is listed as unread, with a reason.
fn check_notes(spec: &Spec, status: &HostStatus) -> Result<(), TestCaseError> {
    let told = |what: &str| status.unread.iter().any(|note| note.what.contains(what));
    prop_assert_eq!(!status.offline.sockets.is_empty(), spec.hides_sockets());
    let offline: Vec<u32> = status.offline.cpus.iter().map(|cpu| cpu.0).collect();
    prop_assert_eq!(&offline, &spec.layout.offline);
    prop_assert!(!spec.hides_sockets() || told("registers, counters and LLC of"));
    for index in spec.reachable() {
        let is_expected = spec.io_ways(index as usize).is_some();
        let is_told = told("ways of I/O") || told("the hardware's own controls") || told("how I/O");
        prop_assert!(is_expected || is_told, "{:?}", status.unread);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(150, 5_000),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(25)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_status_says_of_any_machine_is_what_the_machine_is(spec in spec()) {
        let directory = spec.expand();
        let _lock = spec.others.holds_lock.then(|| HeldLock::take(directory.path()));
        let host = Host::from_tree(directory.path()).expect("the machine");
        let status = HostStatus::read(&host, DEFAULT_STATE);
        let name = status.generation.as_ref().map(|known| known.name.as_str());
        prop_assert_eq!(name, spec.part().is_known.then_some(spec.part().name));
        check_sockets(&spec, &status)?;
        check_ports(&spec, &status)?;
        check_groups(&spec, &status)?;
        check_notes(&spec, &status)?;
        prop_assert_eq!(explain(&status).len(), 8);
        prop_assert_eq!(status.changes_pending, 0);
    }
}

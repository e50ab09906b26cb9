//! The status screen.

use host::controls::describe_ways;
use host::cpu::{Proof, format_list};
use host::resctrl::{CacheResource, IoAlloc, MaskLine};
use host::status::{CacheStatus, Explanation, GroupStatus, HostStatus, IoWays, SocketStatus};

use super::devices;
use crate::output::{Paint, bytes, wrapped};

/// Columns of the widest line of running text.
pub(super) const WIDTH: usize = 100;

/// Formats the whole screen of a machine's status.
pub fn screen(status: &HostStatus, paint: Paint) -> String {
    let mut lines = head(status, paint);
    for socket in &status.sockets {
        lines.push(String::new());
        lines.extend(self::socket(socket, paint));
    }
    if !status.elsewhere.is_empty() {
        lines.push(String::new());
        let heading = match status.offline.sockets.is_empty() {
            true => "DEVICES WHOSE SOCKET IS NOT KNOWN",
            false => "DEVICES OF SOCKETS THAT ARE NOT REACHED OR NOT KNOWN",
        };
        lines.push(paint.heading(heading));
        lines.extend(status.elsewhere.iter().flat_map(|port| devices::lines(port, paint)));
    }
    if let Some(caches) = &status.caches {
        lines.push(String::new());
        lines.extend(groups(caches, paint));
    }
    if status.changes_pending > 0 {
        lines.push(String::new());
        let changes = status.changes_pending;
        let text = match changes {
            1 => "1 change in force; `skipline-host restore` puts it back".to_owned(),
            n => format!("{n} changes in force; `skipline-host restore` puts them back"),
        };
        lines.push(paint.warning(text));
        lines.push(paint.quiet("(a `run` or `tune --for` that still runs does so at its end)"));
    }
    lines.extend(unread(status, paint));
    lines.join("\n") + "\n"
}

fn head(status: &HostStatus, paint: Paint) -> Vec<String> {
    let name = status.cpu.as_ref().map_or("unknown CPU", |cpu| cpu.name.as_str());
    let generation = match (&status.generation, &status.cpu) {
        (Some(generation), Some(cpu)) if cpu.virtual_machine => {
            format!("{}, virtual machine", generation.name)
        }
        (Some(generation), _) => generation.name.clone(),
        (None, Some(cpu)) if cpu.virtual_machine => "virtual machine".to_owned(),
        _ => "generation not known".to_owned(),
    };
    let cores: usize = status.sockets.iter().map(|socket| socket.cores).sum();
    let plural = if status.sockets.len() == 1 { "" } else { "s" };
    let counts = format!("{} socket{plural}, {cores} cores", status.sockets.len());
    let mut lines = vec![paint.heading(format!("{name} · {generation} · {counts}"))];
    let mut row = |label: &str, text: &str| {
        for (index, line) in wrapped(text, WIDTH - 13).into_iter().enumerate() {
            lines.push(format!("{:<13}{line}", if index == 0 { label } else { "" }));
        }
    };
    if let Some(generation) = &status.generation {
        row("I/O path", &generation.io_path);
        if let Some(control) = &generation.io_rdt {
            row("I/O control", control);
        }
    }
    let backend = |backend: &host::status::Backend| {
        format!("{} {}", backend.name, if backend.works { "yes" } else { "no" })
    };
    let backends: Vec<String> = status.backends.iter().map(backend).collect();
    row("Access", &backends.join(" · "));
    row("IOMMU", status.iommu.as_deref().unwrap_or("not readable"));
    if !status.offline.cpus.is_empty() {
        row("Offline CPUs", &format_list(&status.offline.cpus));
    }
    if let Some(lockdown) = &status.lockdown {
        let words = match lockdown.as_str() {
            "none" => "none",
            _ => "the kernel refuses writes to registers (Secure Boot)",
        };
        row(
            "Lockdown",
            &if words == lockdown { words.to_owned() } else { format!("{lockdown}: {words}") },
        );
    }
    lines
}

fn socket(socket: &SocketStatus, paint: Paint) -> Vec<String> {
    let mut lines = vec![format!(
        "{}   CPUs {}, {} cores",
        paint.heading(format!("SOCKET {}", socket.id)),
        format_list(&socket.cpus),
        socket.cores
    )];
    lines.push(format!("  LLC         {}", cache(socket)));
    if let Some(ways) = &socket.io_ways {
        lines.push(format!("  I/O ways    {}", io_ways(ways, socket, paint)));
    }
    if let Some(range) = &socket.uncore {
        let ghz = |mhz: u64| format!("{:.1}", mhz as f64 / 1000.0);
        let now = range.now_mhz.map(|now| format!("{} GHz now, ", ghz(now))).unwrap_or_default();
        let allowed = format!("{} to {} GHz allowed", ghz(range.least_mhz), ghz(range.most_mhz));
        lines.push(format!("  Uncore      {now}{allowed}"));
    }
    if !socket.hugepages.is_empty() {
        let size = |pages: &host::status::HugePageCounts| match pages.pages {
            0 => format!("{}: none", bytes(pages.size_kib << 10)),
            all => format!("{}: {} of {all} free", bytes(pages.size_kib << 10), pages.free),
        };
        let sizes: Vec<String> = socket.hugepages.iter().map(size).collect();
        lines.push(format!("  Huge pages  {}", sizes.join(" · ")));
    }
    lines.extend(socket.ports.iter().flat_map(|port| devices::lines(port, paint)));
    lines
}

fn cache(socket: &SocketStatus) -> String {
    let slices = socket.slices.map(|slices| format!(", {slices} slices")).unwrap_or_default();
    match socket.caches.as_slice() {
        [] => "not described by the kernel".to_owned(),
        [cache] => format!("{}, {} ways{slices}", bytes(cache.size_bytes), cache.ways),
        [first, ..] => format!(
            "{} caches of {}, {} ways each{slices}",
            socket.caches.len(),
            bytes(first.size_bytes),
            first.ways
        ),
    }
}

/// A bar of ways (the highest way on the left), its meaning in words, and the register.
fn io_ways(ways: &IoWays, socket: &SocketStatus, paint: Paint) -> String {
    let size = socket.caches.first().map_or(0, |cache| cache.size_bytes);
    let share = size / u64::from(ways.of_ways.max(1)) * u64::from(ways.mask.count_ones());
    let words = describe_ways(ways.mask, ways.of_ways);
    let text = format!("{}  {words}, {}", bar(ways.mask, ways.of_ways), bytes(share));
    let register = paint.quiet(format!("MSR {:#x} = {:#x}", ways.msr, ways.mask));
    let doubt = match ways.proof {
        Proof::Effective => String::new(),
        Proof::NoEffect => {
            format!(
                "\n              {}",
                paint.warning("known to have no effect on hit rates here")
            )
        }
        Proof::ExpectedNoEffect => format!(
            "\n              {}",
            paint.warning("no effect on the generation before this one; not measured here")
        ),
        Proof::Unknown => format!("\n              {}", paint.warning("effect not published")),
    };
    format!("{text}   {register}{doubt}")
}

fn bar(mask: u64, ways: u32) -> String {
    (0..ways.min(64)).rev().map(|way| if mask >> way & 1 == 1 { '■' } else { '·' }).collect()
}

fn groups(caches: &CacheStatus, paint: Paint) -> Vec<String> {
    let mut lines = vec![paint.heading("CACHE ALLOCATION (resctrl)")];
    lines.extend(caches.resources.iter().map(resource));
    for group in &caches.groups {
        let name = format!("{:<12}", group.group.display_name());
        let cpus = if group.group.cpus.is_empty() { "none" } else { &group.group.cpus };
        lines.push(format!("  {}CPUs {cpus}", paint.heading(name)));
        lines.extend(group.group.masks.iter().flat_map(|line| masks(line, group, caches, paint)));
    }
    lines
}

fn resource(resource: &CacheResource) -> String {
    let shared = match resource.shareable {
        0 => "no ways are marked as shared with I/O".to_owned(),
        mask => format!("ways {mask:#x} are shared with I/O"),
    };
    let holes = match resource.sparse {
        Some(true) => "masks may have holes",
        Some(false) => "masks are one run of ways",
        None => "the kernel does not report whether masks may have holes",
    };
    let io = match &resource.io_alloc {
        None => "no io_alloc in this kernel".to_owned(),
        Some(IoAlloc::NotSupported) => "io_alloc: not supported by this CPU".to_owned(),
        Some(IoAlloc::Off) => "io_alloc: off".to_owned(),
        Some(IoAlloc::On { masks }) => {
            let masks: Vec<String> =
                masks.iter().map(|(cache, mask)| format!("cache {cache} {mask:#x}")).collect();
            format!("io_alloc: on, {}", masks.join(", "))
        }
    };
    format!("  {}: {shared}; {holes}; {io}", resource.name)
}

/// One line for each run of caches with the same mask.
fn masks(line: &MaskLine, group: &GroupStatus, caches: &CacheStatus, paint: Paint) -> Vec<String> {
    let all = caches.resources.iter().find(|r| r.name == line.resource).map_or(0, |r| r.all_ways);
    let ways = 64 - all.leading_zeros();
    let mut lines = Vec::new();
    let mut rest = line.masks.as_slice();
    let overlap = |cache: u32, mask: u64| {
        caches.resources.iter().fold(0, |ways, r| ways | (mask & r.io_ways(cache)))
    };
    while let Some(&(first, mask)) = rest.first() {
        let shared = overlap(first, mask);
        let alike =
            |(cache, other): &&(u32, u64)| *other == mask && overlap(*cache, mask) == shared;
        let run = rest.iter().take_while(alike).count();
        let numbers: Vec<u32> = rest[..run].iter().map(|(cache, _)| *cache).collect();
        let shared = match shared {
            0 => String::new(),
            ways => paint.warning(format!("  {ways:#x} shared with I/O")),
        };
        let occupied = group.group.occupancy_bytes.iter();
        let held = occupied
            .filter(|(cache, _)| numbers.contains(cache))
            .fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let holds = if group.group.occupancy_bytes.is_empty() {
            String::new()
        } else {
            let all = if run > 1 { " in all" } else { "" };
            format!("  holds {}{all}", bytes(held))
        };
        let words = describe_ways(mask, ways);
        lines.push(format!(
            "    {} cache {:<5} {}  {words}{holds}{shared}",
            line.resource,
            format_list(&numbers),
            bar(mask, ways)
        ));
        rest = &rest[run..];
    }
    lines
}

fn unread(status: &HostStatus, paint: Paint) -> Vec<String> {
    if status.unread.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), paint.heading("NOT READ")];
    for unread in &status.unread {
        let text = format!("{}: {}", unread.what, unread.reason);
        for (index, line) in wrapped(&text, WIDTH - 4).into_iter().enumerate() {
            lines.push(format!("{}{line}", if index == 0 { "  " } else { "    " }));
        }
        if let Some(remedy) = &unread.remedy {
            lines.push(format!("    {}", paint.quiet(format!("→ {remedy}"))));
        }
    }
    lines
}

/// The text of `--explain`: each question with its answer.
pub fn answers(answers: &[Explanation], paint: Paint) -> String {
    let mut text = String::new();
    for answer in answers {
        text += &format!("\n{}\n", paint.heading(answer.question));
        for line in wrapped(&answer.answer, WIDTH - 2) {
            text += &format!("  {line}\n");
        }
    }
    text
}

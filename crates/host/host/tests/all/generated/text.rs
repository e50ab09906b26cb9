//! A drawn machine as the descriptions of the library.

use std::fmt::Write;

use super::{Answer, Below, CORES, DescribedLlc, Groups, Layout, OnWrite, Port, Spec};

/// A root port that is on no list.
const OTHER_PORT: u16 = 0x1234;

pub fn machine(spec: &Spec) -> String {
    let part = spec.part();
    let name = if spec.is_named { part.brand } else { "Some Workstation 1234" };
    let flags = if spec.is_virtual { "fpu hypervisor msr" } else { "fpu msr" };
    let mut text = String::new();
    if let Some(clocks) = &spec.uncore_mhz {
        put(&mut text, format_args!("uncore_mhz = {clocks:?}"));
    }
    put(&mut text, format_args!("hugepages = {{ 2048 = {:?} }}", spec.huge_pages));
    put(
        &mut text,
        format_args!(
            "[cpu]\nvendor = \"{}\"\nfamily = {}\nmodel = {}\nstepping = {}\nname = \"{name}\"\n\
             sockets = {}\ncores_per_socket = {CORES}\nnodes_per_socket = {}\nflags = \"{flags}\"\n{}",
            part.vendor,
            part.family,
            part.model,
            part.stepping,
            spec.sockets,
            spec.nodes_per_socket,
            cpu_keys(&spec.layout)
        ),
    );
    put(
        &mut text,
        format_args!(
            "[cache]\nsize_kib = {}\nways = {}\nper_socket = {}\n{}",
            spec.ways * 1024,
            spec.ways,
            spec.dies,
            cache_keys(spec)
        ),
    );
    if let Some(unit) = part.slice_unit.filter(|_| spec.boxes.is_none()) {
        put(
            &mut text,
            format_args!(
                "[[unit]]\nname = \"{unit}\"\nboxes = {CORES}\nfirst_type = 40\n\
                 format = {{ event = \"config:0-7\", umask = \"config:8-15\" }}"
            ),
        );
    }
    if let Some(uncore) = part.uncore.filter(|_| spec.shows_uncore) {
        put(
            &mut text,
            format_args!(
                "[[pci]]\nbdf = \"0000:00:05.0\"\nvendor = 0x8086\ndevice = {uncore}\n\
                 class = 0x088000\nnode = 0"
            ),
        );
    }
    for (index, port) in spec.ports.iter().enumerate() {
        functions(&mut text, spec, index, port);
    }
    files(&mut text, spec.groups.as_ref());
    text
}

fn cpu_keys(layout: &Layout) -> String {
    let numbering = if layout.is_interleaved { "interleaved" } else { "blocks" };
    format!(
        "threads_per_core = {}\nnumbering = \"{numbering}\"\ncore_groups = \"{}\"\n\
         core_groups_per_socket = {}\noffline = {:?}\nwithout_caches = {:?}",
        layout.threads, layout.group_kind, layout.groups, layout.offline, layout.without_caches
    )
}

fn cache_keys(spec: &Spec) -> String {
    match spec.layout.llc {
        DescribedLlc::Level3 => String::new(),
        DescribedLlc::WithLevel4 => "level_4_kib = 131072".into(),
        DescribedLlc::OnlyLevel2 => "level = 2".into(),
        DescribedLlc::DifferentWays => {
            let ways: Vec<u32> = (0..spec.sockets).map(|socket| spec.ways_of(socket)).collect();
            format!("ways_by_socket = {ways:?}")
        }
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a text takes any line");
    text.push('\n');
}

/// A port with its register, and the functions below it.
fn functions(text: &mut String, spec: &Spec, index: usize, port: &Port) {
    let vendor = if spec.part().vendor == "GenuineIntel" { 0x8086 } else { 0x1022 };
    let device = spec.part().root_ports.get(port.device).unwrap_or(&OTHER_PORT);
    let bus = 0x10 + 8 * index;
    let node = port.node.map_or(-1, i64::from);
    let [speed, width] = port.link;
    let link = format!(
        "link = {{ now = [{speed}, {width}], most = [{speed}, 16], mps = 256, mrrs = 512 }}"
    );
    let length = if port.is_covered { 0x100 } else { 0x10 };
    put(
        text,
        format_args!(
            "[[pci]]\nbdf = \"{}\"\nvendor = {vendor}\ndevice = {device}\nclass = 0x060400\n\
             port = \"root-port\"\nnode = {node}\nbuses = [{}, {}]\n{link}\n\
             registers = [[0x180, {}]]\ncapabilities = [{{ at = 0x100, id = 0x0b, version = 1, \
             body = [{}] }}]",
            port.bdf(index),
            bus + 1,
            bus + 4,
            if port.is_covered { 0 } else { port.value },
            length << 20
        ),
    );
    let mut below = |bus: usize, class: u32, rest: &str| {
        put(
            text,
            format_args!(
                "[[pci]]\nbdf = \"{:04x}:{bus:02x}:00.0\"\nvendor = 0x15b3\ndevice = 0x1017\n\
                 class = {class}\nnode = {node}\n{rest}",
                port.domain_number()
            ),
        );
    };
    match port.below {
        Below::Nothing => {}
        Below::Nic => below(bus + 1, 0x02_0000, &link),
        Below::Ssd => below(bus + 1, 0x01_0802, &link),
        Below::Switch => {
            let (first, last) = (bus + 2, bus + 4);
            let up = format!("port = \"switch-upstream\"\nbuses = [{first}, {last}]\n{link}");
            below(bus + 1, 0x06_0400, &up);
            switch(text, port, bus, node);
        }
    }
}

/// The downstream ports of a switch and the SSDs below them.
fn switch(text: &mut String, port: &Port, bus: usize, node: i64) {
    for (device, down) in [(0, bus + 3), (1, bus + 4)] {
        let domain = port.domain_number();
        put(
            text,
            format_args!(
                "[[pci]]\nbdf = \"{domain:04x}:{:02x}:{device:02x}.0\"\nvendor = 0x10b5\n\
                 device = 0x8747\nclass = 0x060400\nnode = {node}\nport = \"switch-downstream\"\n\
                 buses = [{down}, {down}]\n[[pci]]\nbdf = \"{domain:04x}:{down:02x}:00.0\"\n\
                 vendor = 0x144d\ndevice = 0xa808\nclass = 0x010802\nnode = {node}",
                bus + 2
            ),
        );
    }
}

fn files(text: &mut String, groups: Option<&Groups>) {
    let mounted = if groups.is_some() { "resctrl /sys/fs/resctrl resctrl rw 0 0\\n" } else { "" };
    put(
        text,
        format_args!(
            "[files]\n\"proc/sys/kernel/random/boot_id\" = \"one\\n\"\n\
             \"proc/filesystems\" = \"nodev resctrl\\n\"\n\"proc/mounts\" = \"{mounted}\""
        ),
    );
    let Some(groups) = groups else { return };
    let digits = groups.all_ways.count_ones().div_ceil(4) as usize;
    let masks = |masks: &[u64]| {
        let each = masks.iter().enumerate().map(|(id, mask)| format!("{id}={mask:0digits$x}"));
        each.collect::<Vec<_>>().join(";")
    };
    put(text, format_args!("[resctrl]\n\"info/L3/cbm_mask\" = \"{:x}\\n\"", groups.all_ways));
    put(text, format_args!("\"info/L3/min_cbm_bits\" = \"{}\\n\"", groups.least_bits));
    put(text, format_args!("\"info/L3/shareable_bits\" = \"{:x}\\n\"", groups.shareable));
    if let Some(sparse) = groups.sparse {
        put(text, format_args!("\"info/L3/sparse_masks\" = \"{}\\n\"", u8::from(sparse)));
    }
    for (number, of_caches) in groups.groups.iter().enumerate() {
        let folder = if number == 0 { String::new() } else { format!("group{number}/") };
        put(text, format_args!("\"{folder}schemata\" = \"    L3:{}\\n\"", masks(of_caches)));
        put(text, format_args!("\"{folder}cpus_list\" = \"{number}\\n\""));
    }
    if let Some(state) = &groups.io_alloc {
        let word = if state.is_some() { "enabled" } else { "disabled" };
        let all = vec![groups.all_ways; groups.groups[0].len()];
        let held = state.as_ref().unwrap_or(&all);
        put(text, format_args!("\"info/L3/io_alloc\" = \"{word}\\n\""));
        put(text, format_args!("\"info/L3/io_alloc_cbm\" = \"{}\\n\"", masks(held)));
    }
}

pub fn registers(spec: &Spec) -> String {
    let mut text = format!(
        "extended_config = \"{}\"\n[msr]\ndriver = \"{}\"\n[[msr.register]]\naddress = 0xc8b\n\
         value = 0\nread = \"{}\"\n{}\n",
        word(spec.extended),
        word(spec.msr_driver),
        word(spec.msr_read),
        write_of(spec.msr_write, spec.field() | 0xff << 24, spec.field() & 1)
    );
    // Their values are those of `registers.state`: numbers of TOML have 63 bits.
    for (address, value) in [("0x620", spec.ratio_limit), ("0x621", spec.ratio_now)] {
        if value.is_some() {
            put(&mut text, format_args!("[[msr.register]]\naddress = {address}\nvalue = 0"));
        }
    }
    for (address, value, widened) in spec.box_registers() {
        let Some(boxes) = &spec.boxes else { continue };
        let (read, write) = (word(boxes.read), write_of(boxes.write, i64::MAX as u64, widened));
        put(
            &mut text,
            format_args!(
                "[[msr.register]]\naddress = {address}\nvalue = {value}\nread = \"{read}\"\n{write}"
            ),
        );
    }
    for (index, port) in spec.ports.iter().enumerate() {
        put(
            &mut text,
            format_args!(
                "[[pci]]\nfunction = \"{}\"\noffset = 0x180\nread = \"{}\"\n{}",
                port.bdf(index),
                word(port.read),
                write_of(port.write, u32::MAX.into(), 1 << 4)
            ),
        );
    }
    text
}

fn write_of(write: OnWrite, writable: u64, widened: u64) -> String {
    let (answer, sticky) = match write {
        OnWrite::Taken => ("ok", 0),
        OnWrite::Ignored => ("ignored", 0),
        OnWrite::Fault => ("eio", 0),
        OnWrite::Refused => ("eperm", 0),
        OnWrite::Widened => ("ok", widened),
    };
    format!("write = \"{answer}\"\nwritable = {writable}\nsticky = {sticky}")
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Ok => "ok",
        Answer::Absent => "absent",
        Answer::Eperm => "eperm",
        Answer::Eio => "eio",
        Answer::Short => "short",
        Answer::Dead => "dead",
    }
}

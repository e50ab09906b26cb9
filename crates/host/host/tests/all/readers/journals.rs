//! A journal of any entries is restored: only owned bits are written, whatever it names.

use host::Host;
use host::tune::{
    DEFAULT_STATE, Journal, RestoreOptions, RestoredControl, StateDirectory, ignore_steps, preview,
    restore,
};

use super::input::Input;
use super::machine::{FileContents, MachineCache};
use crate::watched::{Rules, watched};

const CHANGED: [&str; 8] = [
    "registers.state",
    "sys/bus/pci/devices/0000:16:00.0/config",
    "sys/bus/pci/devices/0000:ae:00.0/config",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/batch/schemata",
    "sys/fs/resctrl/info/L3/io_alloc",
    "sys/fs/resctrl/info/L3/io_alloc_cbm",
    "var/lib/skipline-host/journal.json",
];
/// Machines with the ways of their last-level cache and their generation.
const MACHINES: [(&str, u32, &str); 3] =
    [("cascade-lake", 11, "Cascade Lake"), ("turin", 16, "Turin"), ("ice-lake", 12, "Ice Lake")];
/// This boot's, and another.
const BOOTS: [&str; 2] = ["5d1f0a52-6f0b-4c39-9a3b-3f3c8f0a7f11", "another"];
static KEPT: MachineCache = MachineCache::new();

/// One of the targets that entries name: controls of the machine, of others, and none at all.
fn target(input: &mut Input<'_>) -> String {
    let small = u64::from(input.byte());
    match small % 12 {
        0 | 1 => {
            format!(r#"{{"kind":"msr","socket":{},"cpu":{},"address":3211}}"#, small >> 6, small)
        }
        2 => {
            let word = input.word();
            // Boxes of slices are in this range on most parts.
            let address = if small & 0x80 == 0 { word & 0xffff_ffff } else { 0xb00 + word % 0x500 };
            format!(r#"{{"kind":"msr","socket":0,"cpu":0,"address":{address}}}"#)
        }
        3 => r#"{"kind":"port","function":"0000:16:00.0","offset":384}"#.into(),
        4 => r#"{"kind":"port","function":"0000:ae:00.0","offset":384}"#.into(),
        5 => r#"{"kind":"port","function":"0000:17:00.0","offset":384}"#.into(),
        6 => format!(
            r#"{{"kind":"mask","path":"sys/fs/resctrl/schemata","resource":"L3","domain":{}}}"#,
            small >> 6
        ),
        7 => format!(
            r#"{{"kind":"mask","path":"sys/fs/resctrl/batch/schemata","resource":"{}","domain":0}}"#,
            if small & 0x80 == 0 { "L3" } else { "MB" }
        ),
        8 | 9 => format!(
            r#"{{"kind":"mask","path":"sys/fs/resctrl/info/L3/io_alloc_cbm","resource":"","domain":{}}}"#,
            small >> 6
        ),
        10 => r#"{"kind":"switch","path":"sys/fs/resctrl/info/L3/io_alloc"}"#.into(),
        _ => r#"{"kind":"switch","path":"sys/fs/resctrl/../../etc/io_alloc"}"#.into(),
    }
}

fn entry(input: &mut Input<'_>) -> String {
    let flags = input.byte();
    let target = target(input);
    let [old, asked, owned, back] = [(); 4].map(|()| input.word());
    let read_back = if flags & 1 == 1 { "null".to_owned() } else { back.to_string() };
    let owned = if flags & 2 == 2 { String::new() } else { format!(r#""owned":{owned},"#) };
    let boot = BOOTS[usize::from(flags & 0xc == 0xc)];
    format!(
        r#"{{"time_unix_s":1,"boot_id":"{boot}","command":"x","target":{target},"old":{old},
            "asked":{asked},{owned}"read_back":{read_back}}}"#
    )
}

pub fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (name, ways, generation) = input.one_of(&MACHINES);
    let flags = input.byte();
    let mut entries = Vec::new();
    while !input.is_empty() && entries.len() < 12 {
        entries.push(entry(&mut input));
    }
    let text = format!(r#"{{"entries":[{}]}}"#, entries.join(","));
    KEPT.with(name, |machine| {
        let before = FileContents::read(machine.root(), &CHANGED);
        let file = machine.root().join("var/lib/skipline-host/journal.json");
        std::fs::write(file, &text).expect("a journal");
        let (host, log) = watched(Host::from_tree(machine.root()).expect("the machine"));
        put_back(&host, RestoreOptions { all: flags & 1 == 1, forget: flags & 2 == 2 });
        let rules = Rules { ways: Some(ways), boxes_of: Some(generation), any_journal: true };
        for write in log.writes() {
            assert_eq!(rules.objection(&write), None, "{text}");
        }
        before.put_back();
    });
}

/// The preview says what restoring then does.
fn put_back(host: &Host, options: RestoreOptions) {
    let Ok(state) = StateDirectory::lock(&host.root, DEFAULT_STATE) else { return };
    let Ok(journal) = Journal::peek(&host.root, DEFAULT_STATE) else { return };
    let foreseen = preview(host, &journal, options.all);
    let mut done: Vec<RestoredControl> = Vec::new();
    let ended = restore(host, &state, options, &mut done, &mut ignore_steps);
    ended.expect("a journal that can be read is restored");
    let foreseen = foreseen.expect("a preview");
    assert_eq!(foreseen.len(), done.len());
}

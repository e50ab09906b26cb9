//! Captures and logs of descriptors that keys name.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A value with the paths of captures in place of PCAP, CUT, which ends within its last packet, IDLE and DAY,
/// which have a pause, and those of logs of descriptors in place of LOG and OTHER.
pub fn with_captures(value: &str) -> String {
    let names = ["PCAP", "CUT", "IDLE", "DAY", "LOG", "OTHER"];
    let named = names.iter().zip(recordings());
    named.fold(value.to_owned(), |text, (name, path)| {
        text.replace(name, &path.display().to_string())
    })
}

/// A capture of 64 frames of 200 bytes, one each microsecond, with `pause_us` before the last 32 of them.
fn capture(pause_us: u64) -> Vec<u8> {
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    for packet in 0..64_u32 {
        let time_us = u64::from(packet) + u64::from(packet / 32) * pause_us;
        let record: [u32; 4] =
            [(time_us / 1_000_000) as u32, (time_us % 1_000_000) as u32, 200, 200];
        bytes.extend(record.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend((0..200).map(|byte: u32| (byte + packet).to_le_bytes()[0]));
    }
    bytes
}

/// A capture; the same without its last byte; the same with a pause of 10 ms and with one of a day; logs of
/// descriptors of 4 KiB and of 1 KiB.
fn recordings() -> &'static [PathBuf; 6] {
    static WRITTEN: OnceLock<[PathBuf; 6]> = OnceLock::new();
    let write = || {
        let bytes = capture(0);
        let cut = bytes[..bytes.len() - 1].to_vec();
        let logs = [4096, 1024].map(|size| descriptors(size).into_bytes());
        let [log, other] = logs;
        let files = [
            ("whole.pcap", bytes),
            ("cut.pcap", cut),
            ("idle.pcap", capture(10_000)),
            ("day.pcap", capture(86_400_000_000)),
            ("4k.jsonl", log),
            ("1k.jsonl", other),
        ];
        files.map(|(name, content)| {
            // Nothing at the end of a test program could remove them: they stay in the folder of cargo, the
            // same ones each time, and another run of these tests finds them whole.
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{name}"));
            let whole = path.with_file_name(format!("keys-{name}.{}", std::process::id()));
            fs::write(&whole, content).expect("the folder of cargo can be written");
            fs::rename(&whole, &path).expect("a file can be renamed");
            path
        })
    };
    WRITTEN.get_or_init(write)
}

/// A log of 600 copies by four portals, 50 ns apart, with a pause of 150 us after each 200.
fn descriptors(bytes: u64) -> String {
    let line = |number: u64| {
        let time = number * 50 + number / 200 * 150_000;
        let (portal, page) = (number % 4, number % 64 * 4096);
        let (source, destination) = (0x1000_0000 + page, 0x2000_0000 + page);
        format!(
            "{{\"time_ns\": {time}, \"portal\": {portal}, \"opcode\": 3, \"flags\": 256, \
             \"bytes\": {bytes}, \"source\": \"{source:#x}\", \"destination\": \"{destination:#x}\"}}\n"
        )
    };
    (0..600).map(line).collect()
}

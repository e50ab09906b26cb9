//! What Wireshark's dissector says of digests.

use std::collections::BTreeMap;
use std::process::Command;

/// Its words for a digest: 0 bad, 1 good; all else is not a judgement.
fn lines(path: &str) -> Vec<(u64, [Vec<bool>; 2])> {
    let output = Command::new("tshark")
        .args(["-n", "-r", path, "-Y", "nvme-tcp", "-T", "fields", "-E", "separator=;"])
        .args(["-o", "nvme-tcp.check_hdgst:TRUE", "-o", "nvme-tcp.check_ddgst:TRUE"])
        .args(["-e", "frame.number", "-e", "nvme-tcp.hdgst.status", "-e", "nvme-tcp.ddgst.status"])
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("tshark (package tshark): {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {}\n{errors}", output.status);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(';').collect();
        let [frame, header, data] = fields[..] else { panic!("{line}") };
        (frame.parse().expect("is a number"), [header, data].map(judgements))
    };
    String::from_utf8_lossy(&output.stdout).lines().map(line).collect()
}

fn judgements(field: &str) -> Vec<bool> {
    let one = |word: &str| match word {
        "0" => false,
        "1" => true,
        other => panic!("tshark judges neither good nor bad: {other}"),
    };
    field.split(',').filter(|word| !word.is_empty()).map(one).collect()
}

/// Header and data digest by frame, where each frame ends at most one PDU: whether they are good.
pub fn judge(path: &str) -> BTreeMap<u64, [Option<bool>; 2]> {
    let only = |field: Vec<bool>| {
        assert!(field.len() < 2, "one PDU ends in a frame");
        field.first().copied()
    };
    lines(path).into_iter().map(|(frame, fields)| (frame, fields.map(only))).collect()
}

/// Header digests and data digests: bad ones, and good ones.
pub fn count(path: &str) -> [[u64; 2]; 2] {
    let mut counts = [[0; 2]; 2];
    for (_, fields) in lines(path) {
        for (counts, field) in counts.iter_mut().zip(fields) {
            for is_good in field {
                counts[usize::from(is_good)] += 1;
            }
        }
    }
    counts
}

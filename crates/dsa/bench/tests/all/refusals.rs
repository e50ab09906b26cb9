//! What is refused says which option, which value, and what is allowed.

use crate::measurements::{MODEL, options, refusal};

#[track_caller]
fn says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

#[test]
fn values_of_options() {
    let refused = |line: &str| match options(line) {
        Err(failure) => failure.to_string(),
        Ok(options) => panic!("{line}: {options:?}"),
    };
    says(&refused("-s 4X"), &["'4X'", "--size", "allowed: bytes, with K, M or G"]);
    says(&refused("-o 99"), &["'99'", "--operation", "0x10 crc"]);
    says(&refused("-w 2"), &["'2'", "--queue-kind", "0 or dedicated"]);
    says(&refused("-z X,F"), &["'X,F'", "-z <S,D>", "P (prefetch), D (demote"]);
    says(&refused("--operands x"), &["'x'", "--operands", "core, llc, flushed or prefetched"]);
    says(&refused("-k 3-1"), &["'3-1'", "--cpus", "5-8,10"]);
    says(&refused("--flags 0x4"), &["'0x4'", "--flags", "0x100"]);
    says(&refused("-q 129"), &["129", "--depth", "1..=128"]);
    says(&refused("-b 0"), &["0", "--batch", "1..=1024"]);
    says(&refused("--on moon"), &["'moon'", "--on", "cpu-model:PLATFORM"]);
    says(&refused("--on model:moon"), &["model:moon", "no such platform", "sapphire-rapids-56"]);
    says(&refused("--sweep-size 64"), &["'64'", "--sweep-size", "FROM-TO"]);
    says(&refused("--pages 8K"), &["'8K'", "--pages", "4K, 2M, 1G"]);
    says(&refused("--set x"), &["'x'", "--set", "KEY=VALUE"]);
}

#[test]
fn values_that_contradict_each_other() {
    let model = |line: &str| refusal(&format!("--on {MODEL} {line}"));
    says(&model("-s 2G"), &["-s 2G", "1 to 1G"]);
    says(&model("-s 0"), &["-s 0", "1 to 1G"]);
    says(&model("-o dif-check -s 1000"), &["-s 1000", "multiples of 512"]);
    says(&model("--threads 2 --queues 1"), &["--threads 2", "one client", "-w 1", "--lock"]);
    says(&model("--threads 9"), &["--threads 9", "8 queues"]);
    says(&model("--threads 5 --queue-entries 32"), &["--queue-entries 32", "160", "128"]);
    says(&model("-w 1 --lock"), &["--lock", "-w 0"]);
    says(&model("-z F,D"), &["-z or --operands flushed,llc", "F,F"]);
    says(&model("-m -o no-op"), &["-o", "no-op", "a core has no descriptors"]);
    says(&model("-o fill --source-node cxl"), &["--source-node", "the operation has no source"]);
    says(&model("--set dsa.enginess=1"), &["dsa.enginess", "dsa.engines"]);
    says(&refusal("--on model:xeon-gold-6140"), &["--on", "sapphire-rapids-56"]);
    says(&model("-o apply-delta -s 1M"), &["-s 1M", "up to 512K"]);
    says(&refusal("--on cpu -s 1G -n 65536"), &["-n 65536", "MiB are free"]);
    says(&refusal("--on device --wait interrupt"), &["--wait interrupt", "poll, pause, umwait"]);
    says(&refusal("--on cpu -n 1 -i 1 -k 8000"), &["-k 8000", "CPUs of this machine"]);
}

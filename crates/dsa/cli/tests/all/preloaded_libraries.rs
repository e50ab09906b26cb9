//! Libraries of the program that stand between the program and the C library: that submit to a queue whose
//! engine is in the same process, and that nothing of a run may call.

use crate::runs::{Ended, Place};
use std::path::Path;

const OFFLOADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/offloader.c");
const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sweep.c");
const HOSTILE: &str = include_str!("../programs/hostile_head.c");
/// Functions of the C library that the library of a run calls.
const CALLED: &str = include_str!("../../../trap/functions.txt");
/// Ways of a run.
const WAYS: [&[&str]; 2] = [&["--quiet"], &["--quiet", "--without-namespaces"]];

fn with_offloader() -> Place {
    let place = Place::new();
    let flags = ["-O2", "-fno-builtin", "-shared", "-fPIC", OFFLOADER, "-o", "liboffloader.so"];
    place.compile(&flags);
    place
}

/// Counts of all programs of a run: eligible calls, those that the device did, descriptors given up.
fn counts(place: &Path) -> [u64; 3] {
    let text = std::fs::read_to_string(place.join("counts")).expect("a program has ended");
    std::fs::remove_file(place.join("counts")).expect("is there");
    let lines = text.lines().map(|line| {
        let numbers: Vec<u64> =
            line.split(' ').map(|number| number.parse().expect("a number")).collect();
        <[u64; 3]>::try_from(numbers).expect("three")
    });
    lines.fold([0; 3], |sum, own| std::array::from_fn(|at| sum[at] + own[at]))
}

/// Runs a command of a shell with the offloading library, in both orders of preloading and both ways of a run, on
/// one CPU and on all; finds that its output stays the same and the device does the work.
#[track_caller]
fn offloads(place: &Place, command: &str, waits: &[&str]) {
    let alone = crate::runs::ended(
        place.for_tests(&mut std::process::Command::new("sh")).args(["-c", command]),
    );
    let expected = alone.with(0);
    for (options, cpus, order, wait) in combinations(waits) {
        let script = format!(
            "own=$PWD/liboffloader.so; export OFFLOAD_COUNTS=$PWD/counts OFFLOAD_WAIT={wait}
             LD_PRELOAD={order} sh -c '{command}'"
        );
        let out = place.run(options, &[cpus, &["bash", "-c", &script]].concat()).with(0);
        let [eligible, done, given_up] = counts(place.path());
        let what = format!("{options:?} {cpus:?} {order} {wait}: {eligible} {done} {given_up}");
        println!("{what}");
        assert!(out == expected, "{what}: {out}");
        // A handful of calls would say nothing.
        assert!(eligible >= 10 && 10 * done > 9 * eligible && given_up == 0, "{what}");
    }
}

/// Both ways of a run, on one CPU and on all, both orders of preloading, with ways to wait.
fn combinations<'a>(
    waits: &'a [&str],
) -> impl Iterator<Item = (&'static [&'static str], &'static [&'static str], &'static str, &'a str)>
{
    const CPUS: [&[&str]; 2] = [&["taskset", "-c", "0"], &[]];
    const ORDERS: [&str; 2] = ["$own:$LD_PRELOAD", "$LD_PRELOAD:$own"];
    WAYS.into_iter().flat_map(move |way| {
        CPUS.into_iter().flat_map(move |cpus| {
            ORDERS
                .into_iter()
                .flat_map(move |order| waits.iter().map(move |wait| (way, cpus, order, *wait)))
        })
    })
}

#[test]
fn programs_offload_by_a_library_that_opens_its_queue_in_its_constructor() {
    let place = with_offloader();
    let work = "import hashlib
d = bytes(range(251)) * 4000
h = hashlib.sha256()
for n in range(1, 40):
    b = bytearray(d[: n * 20000]); b.extend(b); c = bytes(b); b[5000:90000] = c[:80000]
    h.update(b + bytes([c == bytes(b)]) + bytes(n * 7000))
print(h.hexdigest())
";
    std::fs::write(place.path().join("work.py"), work).expect("is written");
    offloads(
        &place,
        "python3 work.py",
        soak::amount(&["poll"], &["poll", "umwait", "yield", "sleep"]),
    );
}

#[test]
fn programs_stay_the_same_one_after_the_other_with_such_a_library() {
    let place = with_offloader();
    std::fs::write(place.path().join("data"), vec![b'7'; 500_000]).expect("is written");
    // Small calls, too: each program of a pipe has its own portal, and its own engine.
    let command =
        "export OFFLOAD_LEAST=300; tar --mtime=@0 -cf - data | tar -tvf - ; sort data | cksum
         tar --mtime=@0 -czf data.tgz data; cksum data.tgz; tar -xzOf data.tgz | cksum";
    offloads(&place, command, soak::amount(&["poll"], &["poll", "umwait", "yield", "sleep"]));
}

#[test]
fn a_compiler_whose_processes_all_have_such_a_library_writes_the_same() {
    let place = with_offloader();
    // The driver, the compiler itself and the assembler are processes of their own.
    let command = format!("cc -O1 -c {SWEEP} -o sweep.o && cksum sweep.o");
    offloads(&place, &command, soak::amount(&["poll"], &["poll", "umwait", "yield", "sleep"]));
}

#[test]
fn a_database_with_such_a_library_has_the_same_rows() {
    if std::process::Command::new("sqlite3").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no sqlite3");
    }
    let place = with_offloader();
    let rows = "create table t(a integer primary key, b blob);
insert into t select value, replace(hex(zeroblob(6000)), '00', printf('%02d', value % 100))
from generate_series(1, 60);
create index i on t(b); update t set b = b || b where a % 3 = 0; delete from t where a % 7 = 0;
vacuum; pragma integrity_check; select a, length(b), substr(b, 5990, 20) from t;";
    std::fs::write(place.path().join("rows.sql"), rows).expect("is written");
    let command = "rm -f file.db; sqlite3 file.db < rows.sql; cksum file.db";
    offloads(&place, command, soak::amount(&["poll"], &["poll", "umwait", "yield", "sleep"]));
}

#[test]
fn a_server_with_such_a_library_has_the_same_values() {
    if std::process::Command::new("redis-server").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no redis-server");
    }
    let place = with_offloader();
    let value: Vec<u8> = (0..400_000_u32).map(|at| b'a' + (at % 23) as u8).collect();
    std::fs::write(place.path().join("value"), value).expect("is written");
    // Server and clients have the library.
    let command = "rm -f socket
         redis-server --port 0 --unixsocket $PWD/socket --save \"\" --loglevel warning >/dev/null &
         until redis-cli -s socket ping >/dev/null 2>&1; do sleep 0.05; done
         for n in 1 2 3 4 5 6; do redis-cli -s socket -x set v$n <value; done
         redis-cli -s socket copy v1 w; redis-cli -s socket setrange w 70000 zz
         redis-cli -s socket append w $(head -c 90000 value)
         for n in v1 v6 w; do redis-cli -s socket --raw get $n | cksum; done
         redis-cli -s socket shutdown nosave; wait";
    offloads(&place, command, soak::amount(&["poll"], &["poll", "umwait", "yield", "sleep"]));
}

/// Compiles the library of which each function ends the program.
fn with_hostile() -> Place {
    let place = Place::new();
    // The library itself finds the C library's by this one.
    let functions = CALLED.lines().filter(|name| *name != "dlsym" && !name.starts_with("_Unwind"));
    let lines: String = functions.map(|name| format!("HOSTILE({name})\n")).collect();
    std::fs::write(place.path().join("hostile.c"), format!("{HOSTILE}{lines}"))
        .expect("is written");
    place.compile(&["-O1", "-fno-builtin", "-shared", "-fPIC", "hostile.c", "-o", "libhostile.so"]);
    place
}

fn hostile(place: &Place, options: &[&str], words: &str) -> Ended {
    let script = format!("LD_PRELOAD=$PWD/libhostile.so:$LD_PRELOAD exec $client {words}");
    place.script(options, &script)
}

#[test]
fn nothing_of_the_engines_calls_functions_of_the_program() {
    let place = with_hostile();
    for options in [&["--quiet"][..], &["--quiet", "--record", "log.jsonl"]] {
        assert_eq!(hostile(&place, options, "shared wq0.1").with(0), "crc 0xe3069283\n");
        for words in
            ["dedicated wq0.0", "shared-full wq0.1", "batches wq0.0 40", "shared-faults wq0.1"]
        {
            hostile(&place, options, words).with(0);
        }
    }
    let plain = ["--quiet", "--without-namespaces"];
    assert_eq!(hostile(&place, &plain, "shared wq0.1").with(0), "crc 0xe3069283\n");
}

#[test]
fn the_library_of_a_run_takes_no_function_of_the_c_library_by_name() {
    let library = crate::runs::command().with_file_name("libskipline_dsa_trap.so");
    // Relocations, not undefined symbols alone: the library has functions with names of the C library's itself.
    let output = std::process::Command::new("readelf")
        .args(["--relocs", "--wide"])
        .arg(library)
        .output()
        .expect("binutils are there: the compiler needs them");
    let text = String::from_utf8(output.stdout).expect("is text");
    // Offset, information, type, value, name, which those of the library's own places do not have.
    let names: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("R_X86_64_"))
        .filter_map(|line| line.split_whitespace().nth(4)?.split('@').next())
        .collect();
    assert!(names.contains(&"__tls_get_addr"), "{text}");
    // Symbols of the loader, and weak ones of the compiler's start files.
    let allowed = ["__tls_get_addr", "_r_debug", "__cxa_finalize", "__gmon_start__"];
    let is_own = |name: &str| name.starts_with("_ITM_") || name.starts_with("skipline_dsa_");
    let others: Vec<&str> =
        names.into_iter().filter(|name| !allowed.contains(name) && !is_own(name)).collect();
    assert!(others.is_empty(), "add to crates/dsa/trap/functions.txt: {others:?}");
}

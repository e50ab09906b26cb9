//! Reasons why a program cannot have the devices of a run, found before it runs.
//!
//! Source: ELF-64 (System V ABI), `ld.so(8)` on secure execution, `capabilities(7)`, `seccomp(2)`.

mod calls;

use super::program::on_path;
use calls::{ElfFile, number, program_headers};
use std::ffi::OsStr;
use std::path::Path;

/// Programs that start others with another environment, or where the library cannot be found.
const LAUNCHERS: [(&str, &str); 9] = [
    ("sudo", "it starts programs without LD_PRELOAD; put it before skipline-dsa instead"),
    ("su", "it starts programs without LD_PRELOAD; put it before skipline-dsa instead"),
    ("doas", "it starts programs without LD_PRELOAD; put it before skipline-dsa instead"),
    (
        "chroot",
        "the library, the directory of the run and /dev/dsa are outside of the new root; run skipline-dsa inside \
         of it, with its library beside it",
    ),
    ("systemd-run", "another process, which is not of the run, starts the program"),
    (
        "docker",
        "another process, which is not of the run, starts the program; run skipline-dsa inside",
    ),
    ("podman", "its containers do not have the library; run skipline-dsa inside"),
    ("ssh", "another machine starts the program"),
    ("runuser", "it starts programs without LD_PRELOAD; put it before skipline-dsa instead"),
];

/// Most interpreters of interpreters that the kernel follows.
const MOST_INTERPRETERS: u32 = 4;

/// The reason why a program cannot have devices; `None`: it can.
pub fn obstacle(path: &Path) -> Option<String> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if let Some((_, why)) = LAUNCHERS.iter().find(|(launcher, _)| *launcher == name) {
        return Some((*why).to_owned());
    }
    obstacle_of(path, MOST_INTERPRETERS)
}

fn obstacle_of(path: &Path, interpreters: u32) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let words = str::from_utf8(line).ok()?.split_whitespace().collect::<Vec<_>>();
        let (first, further) = words.split_first()?;
        // `#! /usr/bin/env NAME` finds its interpreter as a shell does.
        let is_env = Path::new(first).file_name() == Some(OsStr::new("env"));
        let named =
            further.iter().find(|word| is_env && !word.starts_with('-') && !word.contains('='));
        let interpreter = on_path(OsStr::new(named.unwrap_or(first)));
        let Some(interpreter) = interpreter else {
            return Some(format!("its interpreter {first} was not found, or is not executable"));
        };
        let why = obstacle_of(&interpreter, interpreters.checked_sub(1)?)?;
        return Some(format!("its interpreter {}: {why}", interpreter.display()));
    }
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    program_header_obstacle(&bytes).or_else(|| privilege(path)).map(str::to_owned)
}

fn program_header_obstacle(bytes: &[u8]) -> Option<&'static str> {
    /// Class and machine of 64-bit x86 [ELF, e_ident and e_machine].
    const IS_64_BIT: u8 = 2;
    const X86_64: u64 = 62;
    const PT_INTERP: u64 = 3;
    if bytes.get(4) != Some(&IS_64_BIT) || number(bytes, 18, 2) != Some(X86_64) {
        return Some("it is not a 64-bit x86 program, as the library requires");
    }
    let mut headers = program_headers(bytes)?;
    let Some((_, header)) = headers.find(|(kind, _)| *kind == PT_INTERP) else {
        return Some("it is statically linked, and the library needs the dynamic loader");
    };
    let loader = units::narrow::usize_from(number(bytes, header + 8, 8)?);
    let loader = bytes.get(loader..)?.split(|byte| *byte == 0).next()?;
    let is_musl = loader.windows(7).any(|part| part == b"ld-musl");
    is_musl.then_some("it is linked with musl, and the library needs the GNU C library")
}

/// Whether the loader ignores LD_PRELOAD, as the program gets other rights than its user has.
fn privilege(path: &Path) -> Option<&'static str> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let found = rustix::fs::stat(path).ok()?;
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let changes_user = found.st_mode & SET_USER != 0 && found.st_uid != user.as_raw();
    let changes_group = found.st_mode & SET_GROUP != 0 && found.st_gid != group.as_raw();
    if changes_user || changes_group {
        return Some("it changes its user or group when it starts, which keeps the library out");
    }
    let mut none = [0_u8; 0];
    let capabilities = rustix::fs::getxattr(path, "security.capability", &mut none[..]);
    (capabilities.is_ok() && !user.is_root())
        .then_some("it gets capabilities when it starts, which keeps the library out")
}

/// A reason why a program may lose its devices while it runs; `None`: its code does not show any. It tells whether
/// the program restricts its own system calls, which nothing but its code can show beforehand.
pub fn restriction(path: &Path) -> Option<&'static str> {
    const PR_SET_SECCOMP: u32 = 22;
    const SYS_SECCOMP: u32 = 317;
    let bytes = std::fs::read(path).ok().filter(|bytes| bytes.starts_with(b"\x7fELF"))?;
    let file = ElfFile::new(&bytes)?;
    let restricts = file.imports("seccomp_load")
        || file.calls_with("prctl", PR_SET_SECCOMP)
        || file.calls_with("syscall", SYS_SECCOMP);
    restricts.then_some(
        "it restricts its own system calls (seccomp): the library needs mmap, clone, futex, ioctl and \
         rt_sigprocmask when a queue is mapped. If it maps its queues before, or lets these through, it works",
    )
}

/// Whether an ELF file names AddressSanitizer's library among those that it needs.
pub fn has_address_sanitizer(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let name = b"\0libasan.so.";
    bytes.starts_with(b"\x7fELF") && bytes.windows(name.len()).any(|part| part == name)
}

//! Things beside a drawn machine: another user's links and locks, and a long list of CPUs.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::FlockOperation;

const OTHER_USER: u32 = 4321;

/// Links and a lock of another user, where one may make them, and CPUs that the kernel lists beside the first.
#[derive(Clone, Debug, Default)]
pub struct OtherUser {
    /// Names of links in `tmp` to the journal, to a file of root's and to nothing.
    pub links: Vec<&'static str>,
    /// The lock of the groups was taken by a program that never ends.
    pub holds_lock: bool,
    /// The text of /proc/cpuinfo is longer than what is read of a file.
    pub has_large_cpuinfo: bool,
}

/// Most machines have nothing of it.
pub fn other_user() -> impl Strategy<Value = OtherUser> {
    let names = ["skipline-host.lock", "journal.json", ".skipline.0000000000000000", "elsewhere"];
    let links = prop_oneof![
        4 => Just(Vec::new()),
        1 => prop::sample::subsequence(names.to_vec(), 1..=names.len()),
    ];
    (links, prop::bool::weighted(0.1), prop::bool::weighted(0.02)).prop_map(
        |(links, holds_lock, has_large_cpuinfo)| OtherUser { links, holds_lock, has_large_cpuinfo },
    )
}

impl OtherUser {
    /// Does it, in the tree of the machine.
    pub fn act(&self, root: &Path) {
        let shared = root.join("tmp");
        fs::create_dir_all(&shared).expect("a directory");
        for (name, target) in
            self.links.iter().zip(["../var", "../registers.state", "nothing", "/"])
        {
            let link = shared.join(name);
            symlink(target, &link).expect("a link");
            // Without the right to give it away it is a link of this user.
            let _ = lchown(link, Some(OTHER_USER), Some(OTHER_USER));
        }
        if self.has_large_cpuinfo {
            let path = root.join("proc/cpuinfo");
            let first = fs::read_to_string(&path).expect("CPUs");
            let mut file = File::options().append(true).open(path).expect("CPUs");
            for _ in 0..(5 << 20) / first.len() {
                write!(file, "\n{first}").expect("more CPUs");
            }
        }
    }
}

/// The lock of the groups, held by another program.
pub struct HeldLock(#[expect(dead_code, reason = "held, not used")] Option<File>);

impl HeldLock {
    /// Takes it; where groups are not mounted there is none.
    pub fn take(root: &Path) -> Self {
        let mount = File::open(root.join("sys/fs/resctrl")).ok();
        if let Some(mount) = &mount {
            rustix::fs::flock(mount, FlockOperation::NonBlockingLockExclusive).expect("is free");
        }
        Self(mount)
    }
}

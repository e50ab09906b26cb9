//! Machines of the library with few processors online, so that a run is short. What was changed is put
//! back after each run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use host::tune::DEFAULT_STATE;
use tempfile::TempDir;

pub struct Machine {
    directory: TempDir,
}

impl Machine {
    pub fn new(name: &str) -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a temporary directory");
        fake_machines::expand(name, &[], directory.path()).expect("a machine");
        let root = directory.path();
        let online = if name == "turin" { "0,1" } else { "0,1,20,21" };
        fs::write(root.join("sys/devices/system/cpu/online"), online).expect("processors");
        for folder in [
            DEFAULT_STATE,
            "run",
            "sys/module/msr/parameters",
            "sys/class/iommu/dmar0",
            "sys/kernel/iommu_groups/0",
        ] {
            fs::create_dir_all(root.join(folder)).expect("a directory");
        }
        thin_out(root);
        Self { directory }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }
}

/// Leaves two boxes of each unit: the others are read alike.
fn thin_out(root: &Path) {
    let sources = root.join("sys/bus/event_source/devices");
    for entry in fs::read_dir(sources).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.rsplit('_').next().and_then(|number| number.parse::<u32>().ok());
        if number.is_some_and(|number| number > 1) {
            fs::remove_dir_all(path).expect("a box");
        }
    }
}

/// Contents of files as they were, nothing for those that were not there.
pub struct FileContents(BTreeMap<PathBuf, Option<Vec<u8>>>);

impl FileContents {
    pub fn read(root: &Path, paths: &[&str]) -> Self {
        let all = paths.iter().map(|path| root.join(path));
        Self(all.map(|path| (path.clone(), fs::read(&path).ok())).collect())
    }

    pub fn put_back(&self) {
        for (path, content) in &self.0 {
            match content {
                Some(content) => fs::write(path, content).expect("writing"),
                None => drop(fs::remove_file(path)),
            }
        }
    }
}

/// Machines that are kept between runs: expanding one takes longer than a run.
pub struct MachineCache(Mutex<BTreeMap<&'static str, Machine>>);

impl MachineCache {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub fn with<R>(&self, name: &'static str, run: impl FnOnce(&Machine) -> R) -> R {
        let mut kept = self.0.lock().expect("no run has failed");
        run(kept.entry(name).or_insert_with(|| Machine::new(name)))
    }
}

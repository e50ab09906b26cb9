//! Does each application and each kind of device have one module: its own files and a line in one list?

use std::fs;
use std::path::{Path, PathBuf};

/// Source files of the crate, by their path below `src`, with their text before any test module.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("is readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let name = path.strip_prefix(&root).expect("lies below");
        (name.display().to_string(), code.to_owned())
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("is a folder") {
        let path = entry.expect("is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Whether a file is the list of `modules`, or one of them.
fn belongs_to(file: &str, modules: &str) -> bool {
    file == format!("{modules}.rs") || file.starts_with(&format!("{modules}/"))
}

/// Lines that name a variant of `of`: the enum, two colons, a capital.
fn variants_named(code: &str, of: &str) -> Vec<String> {
    let path = format!("{of}::");
    let names_one = |line: &&str| {
        let mut found = line.match_indices(&path);
        found.any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + path.len()..].chars().next();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
                && after.is_some_and(char::is_uppercase)
        })
    };
    code.lines().filter(names_one).map(String::from).collect()
}

#[test]
fn only_the_modules_of_applications_name_an_application() {
    let mut in_modules = 0;
    for (file, code) in sources() {
        let named = variants_named(&code, "Application");
        if belongs_to(&file, "apps") {
            in_modules += named.len();
        } else {
            assert!(named.is_empty(), "{file}: {named:?}");
        }
    }
    assert!(in_modules > 0, "the test looks for something that is there");
}

#[test]
fn only_the_modules_of_devices_name_a_kind_of_device() {
    let mut in_modules = 0;
    for (file, code) in sources() {
        let kinds = ["DeviceKind", "DevicePlan", "Device", "DeviceSample"];
        let variants = kinds.iter().flat_map(|kind| variants_named(&code, kind));
        let asked = code.lines().filter(|line| line.contains("as_nic") || line.contains("as_ssd"));
        let named: Vec<String> = variants.chain(asked.map(String::from)).collect();
        if belongs_to(&file, "devices") {
            in_modules += named.len();
        } else {
            let other = named.iter().filter(|line| !line.contains("DeviceKind::ALL"));
            assert_eq!(other.count(), 0, "{file}: {named:?}");
        }
    }
    assert!(in_modules > 0, "the test looks for something that is there");
}

#[test]
fn assembly_from_a_plan_cannot_panic() {
    // Readings are taken of a machine that is there.
    let sources = sources().into_iter().filter(|(file, _)| !file.ends_with("devices/sample.rs"));
    for (file, code) in sources {
        if ["assemble", "plan", "apps", "devices"].iter().any(|module| belongs_to(&file, module)) {
            for word in [".expect(", ".unwrap()", "unreachable!", "panic!", "todo!"] {
                assert!(!code.contains(word), "{file} has {word}");
            }
        }
    }
}

//! Does each application and each kind of device have one room: its own files and a line in one list? Do
//! rooms know what is below them, and nothing above?

use std::fs;
use std::path::{Path, PathBuf};

/// Source files of the crate, by their path below `src`, with their text before any test module.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
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
    let mut in_list = 0;
    for (file, code) in sources() {
        let named = variants_named(&code, "Application");
        if file == "kinds.rs" {
            in_list += named.len();
        } else {
            let other = named.iter().filter(|line| !line.contains("Application::ALL"));
            assert_eq!(other.count(), 0, "{file}: {named:?}");
        }
    }
    assert!(in_list > 0, "the test looks for something that is there");
}

#[test]
fn only_the_modules_of_devices_name_a_kind_of_device() {
    let mut in_list = 0;
    for (file, code) in sources() {
        let kinds = ["DeviceClass", "Device"];
        let variants = kinds.iter().flat_map(|kind| variants_named(&code, kind));
        let asked = code.lines().filter(|line| line.contains("as_nic") || line.contains("as_ssd"));
        let named: Vec<String> = variants.chain(asked.map(String::from)).collect();
        if file == "kinds.rs" {
            // The list names each kind once, as an argument of its macro.
            in_list += code.lines().filter(|line| line.contains("enum DeviceClass")).count();
        } else {
            let other = named.iter().filter(|line| !line.contains("DeviceClass::ALL"));
            assert_eq!(other.count(), 0, "{file}: {named:?}");
        }
    }
    assert_eq!(in_list, 1, "the test looks for something that is there");
}

/// The items that the list of kinds declares, by name.
fn declared_in_the_list() -> Vec<String> {
    let list = sources().into_iter().find(|(file, _)| file == "kinds.rs").expect("is there").1;
    let names = list.lines().filter_map(|line| {
        let item = line.trim_start().strip_prefix("pub")?.trim_start_matches("(crate)");
        let name = ["struct ", "enum ", "fn "]
            .iter()
            .find_map(|kind| item.trim_start().strip_prefix(*kind))?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        Some(name[..end].to_owned())
    });
    let lists = list.lines().filter_map(|line| line.trim_start().strip_suffix("Keys {"));
    let lists = lists.map(|name| format!("{}Keys", name.trim_start()));
    names.chain(lists).collect()
}

#[test]
fn no_room_knows_the_list_of_kinds() {
    let listed = declared_in_the_list();
    for name in ["DeviceClass", "Application", "AnyApplication", "DeviceKeys", "KindKeys"] {
        assert!(listed.iter().any(|known| known == name), "{name}: {listed:?}");
    }
    for (file, code) in sources().into_iter().filter(|(file, _)| file.starts_with("kinds/")) {
        // In such a line the names below would be missed.
        let of_several = code.lines().find(|line| line.contains("crate::kinds::{"));
        assert_eq!(of_several, None, "{file}");
        for name in &listed {
            let path = format!("crate::kinds::{name}");
            let names = |line: &&str| {
                line.match_indices(&path).any(|(at, _)| {
                    let next = line[at + path.len()..].chars().next();
                    !next.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
                })
            };
            assert_eq!(code.lines().find(names), None, "{file}");
        }
    }
}

/// The modules of the crate, each of which knows only those before it.
const FLOORS: [&str; 8] = ["text", "facts", "contract", "kinds", "scenario", "plan", "run", "job"];

#[test]
fn each_floor_knows_only_those_before_it() {
    let floor = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    for (file, code) in sources().into_iter().filter(|(file, _)| file != "lib.rs") {
        let own = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let own = floor(own).unwrap_or_else(|| panic!("{file} is on no floor"));
        for (at, path) in code.match_indices("crate::") {
            let rest = &code[at + path.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let known = floor(&rest[..end]).unwrap_or_else(|| panic!("{file}: {rest:.40}"));
            assert!(known <= own, "{file} knows {}", &rest[..end]);
        }
    }
}

#[test]
fn a_table_of_keys_is_one_that_the_list_of_kinds_has() {
    // Where a room asks for its table, one that the list does not have would be a panic.
    for (file, code) in sources() {
        let implements = code.lines().any(|line| line.contains("Table for "));
        assert!(!implements || file == "kinds.rs", "{file} implements Table beside the list");
    }
}

#[test]
fn assembly_from_a_plan_cannot_panic() {
    // A reading is one of a device of its kind, and a table one that the list of kinds has.
    let checked = ["contract/sample.rs", "contract/tenant.rs"];
    let sources = sources().into_iter().filter(|(file, _)| !checked.contains(&file.as_str()));
    for (file, code) in sources {
        let is_of_plan = ["contract", "kinds", "plan"].iter().any(|part| belongs_to(&file, part));
        if is_of_plan || file == "run/assemble.rs" {
            for word in [".expect(", ".unwrap()", "unreachable!", "panic!", "todo!"] {
                assert!(!code.contains(word), "{file} has {word}");
            }
        }
    }
}

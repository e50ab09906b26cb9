//! Manual pages, completions and packages: are they whole, and do the tools that read them take them?
//!
//! The formats' own tools judge: man, bash, systemd-analyze, dpkg-deb, rpm. What is not installed is
//! named and left out, but not in a soak; the pages and scripts themselves are checked everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

#[path = "../../../../../packaging/manuals.rs"]
#[expect(dead_code, reason = "the example calls what reads its command line")]
mod manuals;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging");

fn written() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    manuals::write(skipline_host::command(), directory.path()).expect("pages and scripts");
    directory
}

/// The output of a tool; nothing if it is not installed.
fn tool(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(
                soak::amount(true, false),
                "{} is not installed",
                command.get_program().display()
            );
            println!("left out, not installed: {}", command.get_program().display());
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("man")).expect("pages");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("a page").path()).collect();
    pages.sort();
    pages
}

#[test]
fn every_command_has_a_page_that_man_shows_without_a_warning() {
    let directory = written();
    let pages = pages(directory.path());
    let names: BTreeSet<String> =
        pages.iter().map(|page| page.file_name().unwrap().to_string_lossy().into_owned()).collect();
    for name in ["skipline-host", "skipline-host-tune-ddio-mask", "skipline-host-slices-map"] {
        assert!(names.contains(&format!("{name}.1")), "{names:?}");
    }
    assert!(names.iter().all(|name| !name.contains("-help") && !name.contains("-words")));
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{}", page.display());
        let Some(shown) = tool(Command::new("man").arg("--warnings").arg("-l").arg(page)) else {
            continue;
        };
        assert!(shown.status.success() && shown.stderr.is_empty(), "{}", said(&shown));
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let directory = written();
    let script = directory.path().join("completions/skipline-host.bash");
    for (line, expected) in
        [("tu", "tune"), ("tune ddio-m", "ddio-mask"), ("restore --dry", "--dry-run")]
    {
        let ask = format!(
            "source {}; COMP_WORDS=(skipline-host {line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _skipline__host skipline-host \"${{COMP_WORDS[COMP_CWORD]}}\" \
             \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[*]}}\"",
            script.display()
        );
        let Some(answer) = tool(Command::new("bash").args(["--norc", "-c", &ask])) else { return };
        assert_eq!(said(&answer), format!("{expected}\n"), "{line}");
    }
}

/// Writes a unit into a directory, with a program in place of the binary, which is not installed here.
fn unit(name: &str, directory: &Path) -> PathBuf {
    let text = fs::read_to_string(format!("{PACKAGING}/{name}")).expect("the unit");
    let path = directory.join(name.rsplit('/').next().expect("a name"));
    fs::write(&path, text.replace("/usr/bin/skipline-host", "/bin/true")).expect("the unit");
    path
}

#[test]
fn the_units_are_well_formed() {
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["skipline-host-restore.service", "monitoring/skipline-host-exporter.service"] {
        let path = unit(name, directory.path());
        let mut verify = Command::new("systemd-analyze");
        let Some(verified) = tool(verify.args(["verify", "--man=no"]).arg(&path)) else { return };
        assert!(verified.status.success() && said(&verified).is_empty(), "{}", said(&verified));
    }
}

#[test]
fn the_exporter_s_unit_is_exposed_to_little() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = unit("monitoring/skipline-host-exporter.service", directory.path());
    let mut analyze = Command::new("systemd-analyze");
    // 15 stands for 1.5 of 10.
    let arguments = ["security", "--offline=true", "--no-pager", "--threshold=15"];
    let Some(analyzed) = tool(analyze.args(arguments).arg(&path)) else { return };
    assert!(analyzed.status.success(), "{}", said(&analyzed));
}

#[test]
fn packages_hold_the_binary_its_pages_completions_and_the_unit() {
    let manuals = written();
    let out = tempfile::tempdir().expect("a directory");
    // Any program stands for the binary: compressing the real one takes long.
    let mut build = Command::new(format!("{PACKAGING}/build.sh"));
    let build = build.arg("/bin/true").arg(manuals.path()).arg("1.2.3").arg(out.path());
    let built = build.env("SOURCE_DATE_EPOCH", "0").output().expect("the script runs");
    assert!(built.status.success(), "{}", said(&built));
    let mut expected = vec![
        "/usr/bin/skipline-host".to_owned(),
        "/usr/lib/systemd/system/skipline-host-exporter.service".to_owned(),
        "/usr/lib/systemd/system/skipline-host-restore.service".to_owned(),
        "/usr/share/bash-completion/completions/skipline-host".to_owned(),
        "/usr/share/doc/skipline-host/copyright".to_owned(),
        "/usr/share/fish/vendor_completions.d/skipline-host.fish".to_owned(),
    ];
    expected.extend(pages(manuals.path()).iter().map(|page| {
        format!("/usr/share/man/man1/{}.gz", page.file_name().unwrap().to_string_lossy())
    }));
    let with = |zsh: &str| -> BTreeSet<String> {
        expected.iter().cloned().chain([format!("/usr/share/zsh/{zsh}/_skipline-host")]).collect()
    };
    let deb = out.path().join("skipline-host_1.2.3-1_amd64.deb");
    if let Some(listed) = tool(Command::new("dpkg-deb").arg("--contents").arg(&deb)) {
        let text = said(&listed);
        let files = text.lines().filter(|line| line.starts_with('-'));
        assert!(files.clone().all(|line| line.contains("root/root")), "{text}");
        let files: BTreeSet<String> = files
            .filter_map(|line| {
                Some(line.split_whitespace().last()?.trim_start_matches('.').to_owned())
            })
            .collect();
        assert_eq!(files, with("vendor-completions"));
    }
    let rpm = out.path().join("skipline-host-1.2.3-1.x86_64.rpm");
    let has_builder = tool(Command::new("rpmbuild").arg("--version")).is_some();
    if has_builder && let Some(listed) = tool(Command::new("rpm").arg("-qlp").arg(&rpm)) {
        let files: BTreeSet<String> =
            String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
        assert_eq!(files, with("site-functions"));
    }
}

//! Is the reference page that of the commands as they are?

use std::path::Path;

#[path = "../../../../../packaging/reference.rs"]
mod reference;

#[test]
fn the_reference_page_is_made_of_the_command_line() {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/skipline-dsa.md");
    let kept = std::fs::read_to_string(&page).expect("page of the repository");
    let now = reference::page(dsa_cli::command());
    let line = kept.lines().zip(now.lines()).position(|(kept, now)| kept != now);
    assert!(
        kept == now,
        "line {:?} differs; make docs-tables writes {}",
        line.map(|at| at + 1),
        page.display()
    );
}

#[test]
fn the_reference_page_has_commands_arguments_values_and_defaults() {
    let page = reference::page(
        clap::Command::new("tool").about("Does <it>.").subcommand(
            clap::Command::new("go")
                .about("Goes.")
                .arg(clap::arg!(-n --number <N> "How a|b many.").default_value("2"))
                .arg(clap::arg!(--how <WAY> "How.").value_parser(["near", "far"]))
                .arg(clap::arg!([FILE] "Where to.")),
        ),
    );
    for line in [
        "# Commands of `tool`",
        "Does &lt;it>.",
        "## tool go",
        "tool go [OPTIONS] [FILE]",
        r"| `-n, --number N` | How a\|b many. Default: `2`. |",
        "| `--how WAY` | How. Values: `near`, `far`. |",
        "| `FILE` | Where to. |",
    ] {
        assert!(page.lines().any(|printed| printed == line), "{line}\n{page}");
    }
}

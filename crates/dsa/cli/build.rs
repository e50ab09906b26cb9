//! Builds the library that stands in for libaccel-config, which the command has inside.

use std::path::PathBuf;

/// Its parts.
const SOURCES: [&str; 4] = ["requests.c", "context.c", "attributes.c", "control.c"];

fn main() {
    println!("cargo::rerun-if-changed=accel-config");
    let target = std::env::var("TARGET").unwrap_or_default();
    // The command itself is for this system alone.
    if !target.starts_with("x86_64") || !target.contains("linux") {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut build = cc::Build::new();
    build.warnings(true).extra_warnings(true).warnings_into_errors(false).opt_level(2).pic(true);
    let mut compiler = build.get_compiler().to_command();
    compiler
        .args(["-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--as-needed"])
        .args([
            "-Wl,-soname,libaccel-config.so.1",
            "-Wl,--version-script=accel-config/versions.map",
        ])
        .args(SOURCES.map(|source| format!("accel-config/{source}")))
        .arg("-o")
        .arg(out.join("libaccel-config.so.1"));
    let status = compiler.status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "a C compiler builds the library in place of libaccel-config: {compiler:?}"
    );
}

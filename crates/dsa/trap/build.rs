//! Gives each call of a C library's function in this library a name of its own, `__wrap_NAME`, whose
//! definition (`src/private_libc.rs`) jumps to the C library's function and to no other of that name.

use std::fmt::Write;
use std::path::PathBuf;

/// The functions, a name a line.
const FUNCTIONS: &str = "functions.txt";

fn main() {
    println!("cargo::rerun-if-changed={FUNCTIONS}");
    println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap=__cxa_thread_atexit_impl");
    let text = std::fs::read_to_string(FUNCTIONS).expect("is in the package");
    let names: Vec<&str> = text.lines().collect();
    let mut stubs = String::from("std::arch::global_asm!(\n");
    for (number, name) in names.iter().enumerate() {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap={name}");
        writeln!(stubs, "    \"private_function {name}, {number}\",").expect("text grows");
    }
    stubs += ");\n";
    let list: String = names.iter().fold(String::new(), |list, name| list + "c\"" + name + "\", ");
    let count = names.len();
    writeln!(stubs, "static NAMES: [&CStr; {count}] = [{list}];").expect("text grows");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("private_functions.rs"), stubs).expect("can be written");
}

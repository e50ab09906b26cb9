//! Gives the shared library its versioned name, which programs ask the loader for.

/// Raised when a program that was built against an older library must not be loaded with this one.
const ABI: u32 = 0;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libskipline_dsa.so.{ABI}");
}

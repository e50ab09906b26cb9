//! Is the header equal to the one that is generated from the functions?

use std::path::Path;

/// The header is equal to the generated one. With `WRITE_HEADER` set it is written first.
#[test]
fn the_header_is_what_the_functions_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut generated = Vec::new();
    cbindgen::generate(root).expect("the functions can be read").write(&mut generated);
    let path = root.join("include/skipline_dsa.h");
    if std::env::var_os("WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).expect("the folder can be written");
    }
    let kept = std::fs::read(&path).expect("the header is there");
    assert_eq!(
        String::from_utf8_lossy(&kept),
        String::from_utf8_lossy(&generated),
        "run: WRITE_HEADER=1 cargo test -p dsa-c --test all header"
    );
}

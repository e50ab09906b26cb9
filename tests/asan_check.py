#!/usr/bin/env python3
"""Checks that AddressSanitizer finds a planted fault here, before a soak relies on it.

A compiler or a system on which it finds nothing would pass every test.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_TARGET = "x86_64-unknown-linux-gnu"
# Reads one byte behind four: the position is one that the compiler cannot know.
_FAULT = """
fn main() {
    let bytes = vec![1u8; 4];
    let at = std::env::args().count() + 3;
    let read = unsafe { std::ptr::read_volatile(bytes.as_ptr().add(at)) };
    println!("{read}");
}
"""


def main() -> None:
    """Compile and run the fault; exits with 1 and words if it is not found."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory, "fault.rs"), Path(directory, "fault")
        source.write_text(_FAULT, "utf-8")
        flags = ["-Zsanitizer=address", "--target", _TARGET, "-o", str(program)]
        environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
        compiled = subprocess.run(
            ["rustc", *flags, str(source)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if compiled.returncode:
            sys.exit(f"error: rustc has no AddressSanitizer here:\n{compiled.stderr}")
        ran = subprocess.run(
            [program], env=environment, capture_output=True, text=True, check=False
        )
    if ran.returncode == 0 or "heap-buffer-overflow" not in ran.stderr:
        sys.exit(f"error: AddressSanitizer does not find a planted fault:\n{ran.stderr}")
    print("AddressSanitizer finds a planted fault")


if __name__ == "__main__":
    main()

//! Programs in C and C++ that are compiled against header and library of a crate, and run; and whether header,
//! library, man page and programs agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A library with an interface in C, and the programs that use it.
pub struct CLibrary {
    /// Name of the library, such as `skipline_dsa`: also that of its header and man page.
    pub name: &'static str,
    /// Directory of the crate: `env!("CARGO_MANIFEST_DIR")`.
    pub directory: &'static str,
    /// What the names of its functions begin with.
    pub prefix: &'static str,
    /// The programs, in `tests/programs`, that print one line. Together they use all functions.
    pub programs: &'static [&'static str],
}

/// The directory in which cargo has put the library: that of the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("is known");
    test.parent().expect("is in a folder").into()
}

/// A command with the words of another one before it; none for an empty one.
#[must_use]
pub fn behind(words: &[&str], program: &Path) -> Command {
    let [first, others @ ..] = words else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(others).arg(program);
    command
}

/// Checks that a program has ended well, and has printed one line of its own: a library prints nothing.
///
/// # Panics
/// If not.
pub fn assert_clean(program: &str, output: &Output) {
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success() && errors.is_empty(), "{program}: {status}: {printed}{errors}");
    assert_eq!(printed.lines().count(), 1, "{program}: {printed}");
}

/// Whether valgrind is installed; a line says if not.
#[must_use]
pub fn has_valgrind() -> bool {
    let is_there = Command::new("valgrind").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("valgrind is not installed");
    }
    is_there
}

impl CLibrary {
    fn file(&self, path: &str) -> PathBuf {
        Path::new(self.directory).join(path)
    }

    fn text(&self, path: &str) -> String {
        let path = self.file(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn header(&self) -> String {
        self.text(&format!("include/{}.h", self.name))
    }

    /// Names of the functions in lines of a header that declare, or define, one.
    fn functions<'a>(&self, lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        lines
            .filter(|line| ![" ", "//", "#"].iter().any(|other| line.starts_with(other)))
            .filter_map(|line| line.split_once('(').map(|(before, _)| before))
            .filter_map(|before| before.rsplit([' ', '*']).next())
            .filter(|name| name.starts_with(self.prefix))
            .map(str::to_owned)
            .collect()
    }

    /// Compiles a program, of `tests/programs` or with its whole path, against header and shared library, into
    /// a folder, in which the program finds the library.
    ///
    /// # Panics
    /// If the program cannot be compiled.
    #[must_use]
    pub fn compile(&self, program: &str, folder: &Path, flags: &[&str]) -> PathBuf {
        let (compiler, standard) =
            if program.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
        let name = program.rsplit('/').next().unwrap_or(program);
        let compiled = folder.join(name.replace('.', "-"));
        // Programs look for the versioned name.
        let library = format!("lib{}.so", self.name);
        for name in [format!("{library}.0"), library.clone()] {
            let link = folder.join(name);
            if !link.exists() {
                std::os::unix::fs::symlink(libraries().join(&library), link)
                    .expect("the folder can be written");
            }
        }
        let warnings = ["-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"];
        let output = Command::new(compiler)
            .arg(standard)
            .args(warnings)
            .args(flags)
            .arg("-I")
            .arg(self.file("include"))
            .arg(self.file("tests/programs").join(program))
            .arg("-L")
            .arg(folder)
            .args([&format!("-l{}", self.name), "-pthread", "-o"])
            .arg(&compiled)
            .output()
            .expect("a C compiler is needed for Rust, too");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        compiled
    }

    /// Checks that the library has the name that programs ask the loader for, and exports what the header
    /// declares.
    ///
    /// # Panics
    /// If not.
    pub fn assert_exports(&self) {
        let library = libraries().join(format!("lib{}.so", self.name));
        let output_of = |program: &str, flags: &[&str]| {
            let output = Command::new(program).args(flags).arg(&library).output();
            String::from_utf8(output.expect("binutils").stdout).expect("is text")
        };
        let soname = format!("soname: [lib{}.so.0]", self.name);
        assert!(output_of("readelf", &["-d"]).contains(&soname));
        let symbols = output_of("nm", &["-D", "--defined-only"]);
        let exported: BTreeSet<String> = symbols
            .lines()
            .filter_map(|line| line.split(" T ").nth(1))
            .map(str::to_owned)
            .collect();
        let header = self.header();
        let declared =
            header.lines().filter(|line| !line.starts_with("static") && !line.starts_with(" *"));
        assert!(exported.len() > 20, "{exported:?}");
        assert_eq!(exported, self.functions(declared));
    }

    /// Checks that the header is the one that is generated from the functions. With `WRITE_HEADER` set it is
    /// written first.
    ///
    /// # Panics
    /// If not.
    pub fn assert_header_is_generated(&self) {
        let mut generated = Vec::new();
        let bindings = cbindgen::generate(self.directory).expect("the functions can be read");
        bindings.write(&mut generated);
        if std::env::var_os("WRITE_HEADER").is_some() {
            let path = self.file(&format!("include/{}.h", self.name));
            fs::write(path, &generated).expect("the folder can be written");
        }
        let advice = "run this test with WRITE_HEADER=1";
        assert_eq!(self.header(), String::from_utf8_lossy(&generated), "{advice}");
    }

    /// Checks that the programs use every function of the header. `name_in_c` is the name by which a program
    /// uses a function.
    ///
    /// # Panics
    /// If not.
    pub fn assert_every_function_is_used(&self, name_in_c: fn(&str) -> &str) {
        let source = |program: &&str| self.text(&format!("tests/programs/{program}"));
        self.assert_names_every_function(
            &self.programs.iter().map(source).collect::<String>(),
            name_in_c,
        );
    }

    /// Checks that the man page names every function of the header.
    ///
    /// # Panics
    /// If not.
    pub fn assert_man_page_is_whole(&self) {
        self.assert_names_every_function(&self.text(&format!("{}.3", self.name)), |name| name);
    }

    fn assert_names_every_function(&self, text: &str, name_in_c: fn(&str) -> &str) {
        let all = self.functions(self.header().lines());
        assert!(all.len() > 30, "{all:?}");
        let is_missing = |name: &&String| !text.contains(&format!("{}(", name_in_c(name)));
        let missing: Vec<_> = all.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

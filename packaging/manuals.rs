//! Manual pages and completions of a command line, made of its definition: `manuals DIR` writes
//! `man/NAME.1`, a page for each command below it, and a script for bash, zsh and fish.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use clap::Command;
use clap_complete::Shell;

/// Writes them below the directory that the command line names.
pub fn write_all(command: Command) -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let (Some(to), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: manuals DIR");
        return ExitCode::from(2);
    };
    let to = PathBuf::from(to);
    match write(command, &to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", to.display());
            ExitCode::FAILURE
        }
    }
}

/// The pages below `man`, the scripts below `completions`.
pub fn write(mut command: Command, to: &Path) -> io::Result<()> {
    let (man, completions) = (to.join("man"), to.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let name = command.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let path = clap_complete::generate_to(shell, &mut command, &name, &completions)?;
        if shell == Shell::Bash {
            // clap_complete 4.6 writes names with a dash differently where they are set and where they
            // are looked up, so that nothing below the first word is completed.
            let script = fs::read_to_string(&path)?;
            fs::write(&path, script.replace("__subcmd__", "__"))?;
        }
    }
    command.build();
    pages(&command, &man)
}

/// The page of a command, and those of the commands below it.
fn pages(command: &Command, to: &Path) -> io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    fs::write(to.join(page.get_filename()), text)?;
    let is_shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    command.get_subcommands().filter(is_shown).try_for_each(|below| pages(below, to))
}

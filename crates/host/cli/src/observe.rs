//! `observe`: a running server as a scenario, a source for each value.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use host::observe::{Observation, ObserveRequest, observe};
use inputs::foreign::in_line;
use serde::Serialize;

use crate::HostContext;
use crate::failure::HostFailure;
use crate::out_file::OutFile;
use crate::output::{TextOrJson, Versioned, emit, emit_json, wrapped};
use crate::progress_line::ProgressLine;
use crate::signals::stop_flag;
use crate::value_parsers::within;

/// Suffix of the windows of the counters beside the scenario.
const WINDOWS: &str = ".windows.jsonl";
/// Columns of the text.
const WIDTH: usize = 100;

/// Write a running server as a scenario of the simulator, with a source for each value
///
/// Reads CPU, caches, ports, links, rings, queues, ways, masks and pages, counts for --seconds what moves
/// and who runs where, and writes a scenario that `skipline run` takes. Behind each value is its source:
/// read, measured in the window, assumed (and why). What nothing tells is asked for by name: --set KEY=VALUE
/// answers. Works for every user; root sees more. Nothing of the machine is changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  skipline-host observe --out mine.toml
  skipline-host observe --seconds 60 --platform this-host.toml
  skipline-host observe --port ens1f0 --set rx_descriptors=2048
  skipline-host observe --format json")]
pub struct ObserveArguments {
    /// Time to count
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = within(1..=3600))]
    seconds: u64,

    /// The scenario; windows of the counters go beside it, as FILE.windows.jsonl without .toml, but not
    /// beside a pipe or a device
    #[arg(long, value_name = "FILE", default_value = "observed.toml")]
    out: PathBuf,

    /// Platform of the scenario: a name, or a file of `calibrate` [default: the nearest known one]
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<String>,

    /// Interface or PCI address of the network port [default: the busiest]
    #[arg(long, value_name = "PORT")]
    port: Option<String>,

    /// A value that you know; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = answer)]
    answers: Vec<(String, toml::Value)>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The JSON output.
#[derive(Serialize)]
struct ObserveReport<'a> {
    #[serde(flatten)]
    observed: &'a Observation,
    scenario: String,
    windows: Option<String>,
}

/// Parses an answer: a value of TOML, or text.
fn answer(text: &str) -> Result<(String, toml::Value), String> {
    let allowed = "allowed: KEY=VALUE with a key of a scenario, like rx_descriptors=2048";
    let (key, value) = text.split_once('=').ok_or(allowed)?;
    let is_word = |part: &str| {
        let mut chars = part.chars();
        !part.is_empty() && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    if !key.split('.').all(is_word) {
        return Err(allowed.to_owned());
    }
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}"));
    let parsed =
        parsed.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    Ok((key.to_owned(), parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()))))
}

/// Observes, and writes the scenario.
///
/// # Errors
/// If a file cannot be written, or the port that was asked for is not there.
pub fn run(arguments: &ObserveArguments, context: &HostContext) -> Result<(), HostFailure> {
    let out = OutFile::prepare(&arguments.out)?;
    let windows_file =
        out.is_kept().then(|| OutFile::prepare(&windows_path(&arguments.out))).transpose()?;
    let request = ObserveRequest {
        seconds: u32::try_from(arguments.seconds).unwrap_or(u32::MAX),
        platform: arguments.platform.clone(),
        port: arguments.port.clone(),
        answers: arguments.answers.clone(),
    };
    let stop = stop_flag()?;
    let mut line = ProgressLine::new();
    let all = request.seconds;
    let mut progress = |second: u32| {
        line.show(|| format!("observing: {second} of {all} s"));
        !stop.load(Ordering::Relaxed)
    };
    let observed = observe(&context.host, context.state_dir(), &request, &mut progress)
        .map_err(HostFailure::bad_input)?;
    drop(line);
    if stop.load(Ordering::Relaxed) {
        return Err(HostFailure::interrupted("interrupted; nothing was written"));
    }
    out.write(&observed.scenario())?;
    let windows = windows_file.filter(|_| !observed.windows.is_empty());
    if let Some(file) = &windows {
        file.write(&windows_text(&observed)?)?;
    }
    let named = |file: &OutFile| file.named().display().to_string();
    match arguments.format {
        TextOrJson::Json => emit_json(&ObserveReport {
            observed: &observed,
            scenario: named(&out),
            windows: windows.as_ref().map(named),
        })?,
        TextOrJson::Text if out.is_kept() => {
            let written = [Some(named(&out)), windows.as_ref().map(named)];
            emit(&screen(&observed, &written.into_iter().flatten().collect::<Vec<_>>()))?;
        }
        TextOrJson::Text => {}
    }
    Ok(())
}

/// Path of the windows beside a scenario. Only `.toml` is removed: text after another dot belongs to the
/// name.
fn windows_path(scenario: &Path) -> PathBuf {
    let name = scenario.to_string_lossy();
    PathBuf::from(format!("{}{WINDOWS}", name.strip_suffix(".toml").unwrap_or(&name)))
}

/// The windows as `monitor --format json` prints them.
fn windows_text(observed: &Observation) -> Result<String, HostFailure> {
    let mut text = String::new();
    for window in &observed.windows {
        text += &serde_json::to_string(&Versioned::new(window)).map_err(std::io::Error::from)?;
        text.push('\n');
    }
    Ok(text)
}

/// The screen: values with their sources, then what is open.
fn screen(observed: &Observation, written: &[String]) -> String {
    let mut text = format!("{}\n\n", observed.title);
    let width = observed.values.iter().map(|value| value.key.len()).max().unwrap_or(0);
    for value in &observed.values {
        let shown = value.shown().unwrap_or_else(|| "-".to_owned());
        let source = format!("{}: {}", value.origin.word(), in_line(&value.source));
        let begin = format!("  {:width$}  {shown:<20}  ", value.key);
        let columns = WIDTH.saturating_sub(begin.chars().count()).max(30);
        for (number, part) in wrapped(&source, columns).iter().enumerate() {
            let begin = if number == 0 { begin.clone() } else { " ".repeat(begin.chars().count()) };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{begin}{part}");
        }
    }
    let asked =
        observed.questions.iter().map(|open| format!("--set {}=…  {}", open.key, open.question));
    list(&mut text, "Asked; until then what stands above, or the simulator's default", asked);
    list(&mut text, "Seen, and not in this scenario", observed.left_out.iter().cloned());
    list(&mut text, "Not read", observed.unread.iter().map(ToString::to_string));
    let _ = writeln!(text, "\nwrote {}", written.join(", "));
    text
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for item in items {
        for (number, line) in wrapped(&item, WIDTH - 4).iter().enumerate() {
            let _ = writeln!(text, "{}{line}", if number == 0 { "  " } else { "    " });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_values_of_toml_or_text() {
        assert_eq!(answer("cores=4"), Ok(("cores".into(), 4.into())));
        assert_eq!(answer("nic=e810"), Ok(("nic".into(), "e810".into())));
        assert_eq!(
            answer("traffic.pattern=random"),
            Ok(("traffic.pattern".into(), "random".into()))
        );
        let several = answer("nic=1\ncores = 5").expect("text").1;
        assert!(several.is_str(), "{several}");
        for wrong in ["", "cores", "=4", "Cores=4", "a..b=1", "a b=1"] {
            assert!(answer(wrong).is_err(), "{wrong}");
        }
    }
}

//! The text of an observed scenario.

use std::fmt::Write as _;

use inputs::foreign::in_line;

use super::{Observation, ObservedValue};

/// Keys that begin a scenario, in their order; the others follow as they were found.
const FIRST: [&str; 8] = [
    "platform",
    "nic",
    "application",
    "cores",
    "rx_descriptors",
    "tx_descriptors",
    "packet_bytes",
    "offered_gbps",
];

/// The scenario, which a run takes: answers to what is asked are missing in it, and the simulator's defaults
/// stand for them.
pub(super) fn scenario(observed: &Observation) -> String {
    let mut text = format!(
        "# Written by `skipline-host observe` from a window of {:.0} s. Behind each value is its source: read\n\
         # (a file, a register), measured (in the window), assumed (and why), stated (by --set).\n\
         title = {}\nquestion = \"What leaks on this server, and what limits it?\"\n\n",
        observed.window_s,
        quoted(&observed.title)
    );
    let rank = |value: &&ObservedValue| {
        FIRST.iter().position(|key| *key == value.key).unwrap_or(FIRST.len())
    };
    let mut values: Vec<&ObservedValue> = observed.values.iter().collect();
    values.sort_by_key(rank);
    for value in values {
        text += &line(value);
    }
    // Writing to a String cannot fail.
    let _ = section(
        &mut text,
        "Asked (--set KEY=VALUE); until then what stands above, or the simulator's default",
        {
            observed
                .questions
                .iter()
                .map(|open| format!("{}: {}", open.key, open.question))
                .collect()
        },
    );
    let _ = section(&mut text, "Seen, and not in this scenario", observed.left_out.clone());
    let unread =
        observed.unread.iter().map(|unread| unread.to_string().replace("\n  remedy:", "; remedy:"));
    let _ = section(&mut text, "Not read", unread.collect());
    text
}

fn line(value: &ObservedValue) -> String {
    let source = format!("{}: {}", value.origin.word(), in_line(&value.source));
    match &value.value {
        Some(known) => format!("{} = {}  # {source}\n", value.key, shown(&value.key, known)),
        None => format!("# {} is left to the platform  # {source}\n", value.key),
    }
}

/// A value as TOML: masks of ways as people write them.
pub(super) fn shown(key: &str, value: &toml::Value) -> String {
    match value {
        toml::Value::Integer(mask) if key.ends_with("way_mask") => format!("{mask:#x}"),
        _ => value.to_string(),
    }
}

fn section(text: &mut String, title: &str, lines: Vec<String>) -> std::fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n# {title}:")?;
    for line in lines {
        writeln!(text, "#   {}", in_line(&line))?;
    }
    Ok(())
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(in_line(text).into_owned())
}

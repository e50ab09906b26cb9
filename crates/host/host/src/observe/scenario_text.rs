//! The text of an observed scenario.

use std::fmt::Write as _;

use inputs::foreign::in_line;

use super::{Observation, ObservedValue};

/// Keys that begin a scenario, in their order; the others follow as they were found.
const FIRST: [&str; 9] = [
    "name",
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
    let (main, tenants): (Vec<_>, Vec<_>) = observed
        .values
        .iter()
        .map(|value| (of_tenant(&value.key), value))
        .partition(|it| it.0.is_none());
    text += &in_order(main.into_iter().map(|(_, value)| (value.key.as_str(), value))).concat();
    let count =
        tenants.iter().filter_map(|(of, _)| of.map(|(number, _)| number + 1)).max().unwrap_or(0);
    for tenant in 0..count {
        let own = tenants.iter().filter_map(|(of, value)| {
            of.filter(|(number, _)| *number == tenant).map(|(_, key)| (key, *value))
        });
        text += "\n[[tenant]]\n";
        text += &in_order(own).concat();
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

/// Number of the tenant and the rest of a key like `tenant.0.cores`; `None`: a key of the main one.
fn of_tenant(key: &str) -> Option<(usize, &str)> {
    let (number, rest) = key.strip_prefix("tenant.")?.split_once('.')?;
    Some((number.parse().ok()?, rest))
}

/// The lines of values by key, those of [`FIRST`] first.
fn in_order<'a>(values: impl Iterator<Item = (&'a str, &'a ObservedValue)>) -> Vec<String> {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(|(key, _)| rank(key));
    values.into_iter().map(|(key, value)| line(key, value)).collect()
}

fn line(key: &str, value: &ObservedValue) -> String {
    let source = format!("{}: {}", value.origin.word(), in_line(&value.source));
    match &value.value {
        Some(known) => format!("{key} = {}  # {source}\n", shown(key, known)),
        // A tenant inherits what it does not state.
        None if value.key != key => format!("# {key} is that of the main tenant  # {source}\n"),
        None => format!("# {key} is left to the platform  # {source}\n"),
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

//! Configuration files of accel-config: what its `save-config` writes and its `load-config` reads.
//!
//! A driver of ours is given one as a whole ([`Saved::apply`]). For a driver that is in use there are the
//! refusals and the resulting configuration ([`Saved::taken_by`]), then the steps ([`Saved::plan`]).
//!
//! A file is a list of devices in JSON. Each object begins with `dev`, the name of what it is about;
//! queues and engines are inside of their group. What `list` prints besides (`gen_cap`, `clients`) may be
//! there and sets nothing.
//!
//! Source: files in Debian's accel-config 3.5.3 (`/etc/accel-config/contrib/configs`), the names in its
//! program, its man pages.

mod allowed;
mod apply;
mod blame;
mod complete;
mod default;
mod differences;
mod keys;
mod parse;
mod plan;
mod taker;

pub use apply::ApplyError;
pub use complete::{Becomes, Taken};
pub use differences::Difference;
pub use parse::ParseError;
pub use plan::{Plan, Step};

use crate::{Driver, Idle, Node};
use keys::Form;
use std::fmt::Write;

/// A configuration of some devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    entries: Vec<Entry>,
}

/// What a file says of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    node: Node,
    /// Attributes and their texts, without newlines.
    settings: Vec<(&'static str, String)>,
    /// Whether it says that the node is enabled, if it says so or the opposite.
    enabled: Option<bool>,
}

impl Entry {
    fn get(&self, attribute: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings.find(|(name, _)| *name == attribute).map(|(_, text)| text.as_str())
    }

    /// The group that a queue or an engine is in.
    fn group(&self) -> Option<usize> {
        self.get("group_id")?.parse().ok()
    }
}

impl Saved {
    /// The configuration that the devices of a driver have now.
    #[must_use]
    pub fn of(driver: &Driver) -> Self {
        let entry = |node| {
            let read = |attribute: &str| driver.read(node, attribute, &Idle).ok();
            let settable = keys::of(node).iter().filter(|key| key.is_set());
            let settings = settable.filter_map(|key| {
                let text = read(key.name)?;
                Some((key.name, text.trim_end().to_owned()))
            });
            let state = read("state").map(|state| state == "enabled\n");
            Entry { node, settings: settings.collect(), enabled: state }
        };
        Self { entries: driver.nodes().map(entry).collect() }
    }

    /// The text of its file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let devices = self.entries.iter().filter(|entry| matches!(entry.node, Node::Device(_)));
        let devices: Vec<String> = devices.map(|entry| self.device_json(entry)).collect();
        format!("[\n{}\n]\n", devices.join(",\n"))
    }

    fn device_json(&self, device: &Entry) -> String {
        let Node::Device(number) = device.node else { return String::new() };
        let own: Vec<&Entry> =
            self.entries.iter().filter(|it| it.node.device() == number).collect();
        let list = |name: &str, wanted: &dyn Fn(&Entry) -> bool| {
            let members = own.iter().filter(|entry| wanted(entry));
            let members: Vec<String> = members.map(|it| object(it, &[], 5)).collect();
            array(name, &members, 4)
        };
        let is_queue = |entry: &Entry| matches!(entry.node, Node::Queue(..));
        let is_engine = |entry: &Entry| matches!(entry.node, Node::Engine(..));
        let mut groups = Vec::new();
        for entry in &own {
            let Node::Group(_, group) = entry.node else { continue };
            let inside = |it: &Entry| it.group() == Some(group);
            let members = [
                list("grouped_workqueues", &|it| is_queue(it) && inside(it)),
                list("grouped_engines", &|it| is_engine(it) && inside(it)),
            ];
            groups.push(object(entry, &members, 3));
        }
        let outside = |it: &Entry| it.group().is_none();
        let members = [
            array("groups", &groups, 2),
            list("ungrouped workqueues", &|it| is_queue(it) && outside(it)),
            list("ungrouped_engines", &|it| is_engine(it) && outside(it)),
        ];
        object(device, &members, 1)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object that begins with its node's name, as accel-config needs it.
fn object(entry: &Entry, members: &[String], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut text = format!("{indent}{{\n{indent}  \"dev\":{}", quoted(&entry.node.to_string()));
    for (name, value) in &entry.settings {
        let is_number =
            keys::find(entry.node, name).is_some_and(|key| matches!(key.form, Form::Number { .. }));
        let value = if is_number { value.clone() } else { quoted(value) };
        // Writing to a string does not fail.
        let _ = write!(text, ",\n{indent}  \"{name}\":{value}");
    }
    if let Some(enabled) = entry.enabled {
        let state = if enabled { "enabled" } else { "disabled" };
        let _ = write!(text, ",\n{indent}  \"state\":\"{state}\"");
    }
    for member in members.iter().filter(|member| !member.is_empty()) {
        let _ = write!(text, ",\n{member}");
    }
    text + "\n" + &indent + "}"
}

/// A named list; nothing if it is empty.
fn array(name: &str, members: &[String], depth: usize) -> String {
    if members.is_empty() {
        return String::new();
    }
    let indent = "  ".repeat(depth);
    format!("{indent}\"{name}\":[\n{}\n{indent}]", members.join(",\n"))
}

//! Configuration files of accel-config, as its `save-config` writes and its `load-config` reads them.
//!
//! [`SavedConfig::apply`] writes a whole file to an unused driver. For a driver that is in use,
//! [`SavedConfig::accepted_by`] returns the refusals and the resulting configuration, and [`SavedConfig::plan`] the
//! steps to it.
//!
//! A file is a list of devices in JSON. Each object begins with `dev`, the name of its node; queues and
//! engines are inside their group. Other keys that `list` prints (`gen_cap`, `clients`) are allowed and
//! set nothing.
//!
//! Source: files in Debian's accel-config 3.5.3 (`/etc/accel-config/contrib/configs`), the names in its
//! program, its man pages.

mod allowed_values;
mod apply;
mod default_config;
mod differences;
mod keys;
mod parse;
mod plan;
mod refused_key;
mod trial;
mod whole_devices;

pub use apply::ApplyError;
pub use differences::Difference;
pub use parse::ParseError;
pub use plan::{ConfigPlan, ConfigStep};
pub use whole_devices::{AcceptedConfig, AdjustedValue};

use crate::{BusNode, Driver, IdleHardware};
use keys::Form;
use std::fmt::Write;

/// A configuration of some devices, as a file has it. Default: no devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedConfig {
    entries: Vec<NodeSettings>,
    /// Names of the devices in the file that are not DSA devices. Such a device is left as it is.
    passed_over: Vec<String>,
}

/// Settings of a node in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NodeSettings {
    node: BusNode,
    /// Attributes and their texts, without newlines.
    settings: Vec<(&'static str, String)>,
    /// Whether the file has the node enabled or disabled; `None` if it does not have its state.
    enabled: Option<bool>,
}

impl NodeSettings {
    fn get(&self, attribute: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings.find(|(name, _)| *name == attribute).map(|(_, text)| text.as_str())
    }

    /// Number of the group that a queue or an engine is in.
    fn group(&self) -> Option<usize> {
        self.get("group_id")?.parse().ok()
    }
}

impl SavedConfig {
    /// Names of the devices in the file that are not DSA devices, as iax1: `save-config` writes all accelerators
    /// of the bus. They are left as they are.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// The configuration that the devices of a driver have now.
    #[must_use]
    pub fn from_driver(driver: &Driver) -> Self {
        let entry = |node| {
            let read = |attribute: &str| driver.read(node, attribute, &IdleHardware).ok();
            let settable = keys::for_node(node).iter().filter(|key| key.is_set());
            let settings = settable.filter_map(|key| {
                let text = read(key.name)?;
                Some((key.name, text.trim_end().to_owned()))
            });
            let state = read("state").map(|state| state == "enabled\n");
            NodeSettings { node, settings: settings.collect(), enabled: state }
        };
        Self { entries: driver.nodes().map(entry).collect(), passed_over: Vec::new() }
    }

    /// Formats the configuration as the text of a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let devices = self.entries.iter().filter(|entry| matches!(entry.node, BusNode::Device(_)));
        let devices: Vec<String> = devices.map(|entry| self.device_json(entry)).collect();
        format!("[\n{}\n]\n", devices.join(",\n"))
    }

    fn device_json(&self, device: &NodeSettings) -> String {
        let BusNode::Device(number) = device.node else { return String::new() };
        let own: Vec<&NodeSettings> =
            self.entries.iter().filter(|it| it.node.device() == number).collect();
        let list = |name: &str, wanted: &dyn Fn(&NodeSettings) -> bool| {
            let members = own.iter().filter(|entry| wanted(entry));
            let members: Vec<String> = members.map(|it| object(it, &[], 5)).collect();
            array(name, &members, 4)
        };
        let is_queue = |entry: &NodeSettings| matches!(entry.node, BusNode::Queue(..));
        let is_engine = |entry: &NodeSettings| matches!(entry.node, BusNode::Engine(..));
        let mut groups = Vec::new();
        for entry in &own {
            let BusNode::Group(_, group) = entry.node else { continue };
            let inside = |it: &NodeSettings| it.group() == Some(group);
            let members = [
                list("grouped_workqueues", &|it| is_queue(it) && inside(it)),
                list("grouped_engines", &|it| is_engine(it) && inside(it)),
            ];
            groups.push(object(entry, &members, 3));
        }
        let outside = |it: &NodeSettings| it.group().is_none();
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

/// Formats an object that begins with its node's name, as accel-config needs it.
fn object(entry: &NodeSettings, members: &[String], depth: usize) -> String {
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

/// Formats a named list; an empty text if the list is empty.
fn array(name: &str, members: &[String], depth: usize) -> String {
    if members.is_empty() {
        return String::new();
    }
    let indent = "  ".repeat(depth);
    format!("{indent}\"{name}\":[\n{}\n{indent}]", members.join(",\n"))
}

//! Parser for the text of a file.

use super::keys::{self, Form};
use super::{NodeSettings, SavedConfig};
use crate::BusNode;
use crate::attributes::current_name;
use serde_json::{Map, Value};
use std::fmt::Display;
use thiserror::Error;

/// Reason why a text is not a valid configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The text is not valid JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// A key or its value is not allowed.
    #[error("{at}: {key} = {value}; allowed is {allowed}")]
    Key {
        /// Node of the object, or of the object around it.
        at: String,
        /// The key.
        key: String,
        /// Value of the key, as JSON.
        value: String,
        /// Allowed keys or values.
        allowed: String,
    },
}

fn refused(at: &dyn Display, key: &str, value: &Value, allowed: &str) -> ParseError {
    let (at, key) = (at.to_string(), key.to_owned());
    ParseError::Key { at, key, value: value.to_string(), allowed: allowed.to_owned() }
}

impl SavedConfig {
    /// Parses the text of a file. As accel-config does, it allows a comma behind the last member of a list.
    ///
    /// # Errors
    /// The line and column where the text is not JSON, or the key whose value is not allowed.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let value: Value = serde_json::from_str(&without_last_commas(text))
            .map_err(|error| ParseError::Json(error.to_string()))?;
        let mut saved = Self::default();
        // A single device needs no brackets of a list.
        let devices = if value.is_object() { Value::Array(vec![value]) } else { value };
        for object in objects("the file", "devices", &devices)? {
            match other_accelerator(object) {
                Some(name) => saved.passed_over.push(name.to_owned()),
                None => saved.read_device(object)?,
            }
        }
        saved.drop_thresholds_of_dedicated_queues();
        Ok(saved)
    }

    /// Removes the threshold of each queue that the file makes dedicated: accel-config writes thresholds of
    /// shared queues alone.
    fn drop_thresholds_of_dedicated_queues(&mut self) {
        for entry in &mut self.entries {
            if entry.get("mode") == Some("dedicated") {
                // A threshold of 0 is what a dedicated queue shows.
                entry.settings.retain(|(name, text)| *name != "threshold" || text == "0");
            }
        }
    }

    fn read_device(&mut self, object: &Map<String, Value>) -> Result<(), ParseError> {
        let device = match self.read("the file", object)? {
            BusNode::Device(device) => device,
            other => return Err(wrong_kind("the file", other, "dsaN")),
        };
        let at = format!("dsa{device}");
        for group in members(&at, object, "groups")? {
            let number = match self.read(&at, group)? {
                BusNode::Group(within, number) if within == device => number,
                other => return Err(wrong_kind(&at, other, &format!("group{device}.M"))),
            };
            let at = format!("group{device}.{number}");
            for key in ["grouped_workqueues", "grouped_engines"] {
                for member in members(&at, group, key)? {
                    self.read_member(&at, device, Some(number), key, member)?;
                }
            }
        }
        for key in ["ungrouped_workqueues", "ungrouped workqueues", "ungrouped_engines"] {
            for member in members(&at, object, key)? {
                self.read_member(&at, device, None, key, member)?;
            }
        }
        Ok(())
    }

    /// Reads a queue or an engine. It belongs to the group whose object contains it.
    fn read_member(
        &mut self,
        at: &str,
        device: usize,
        group: Option<usize>,
        list: &str,
        object: &Map<String, Value>,
    ) -> Result<(), ParseError> {
        let node = self.read(at, object)?;
        let kind = if list.ends_with("engines") { "engine" } else { "wq" };
        let fits = matches!(
            (node, kind),
            (BusNode::Queue(within, _), "wq") | (BusNode::Engine(within, _), "engine")
                if within == device
        );
        if !fits {
            return Err(wrong_kind(at, node, &format!("{kind}{device}.M")));
        }
        let group = group.map_or_else(|| "-1".to_owned(), |group| group.to_string());
        if let Some(entry) = self.entries.last_mut() {
            let stated = entry.get("group_id").unwrap_or(&group);
            if *stated != group {
                let value = Value::from(stated);
                let allowed = format!("{group}, as it stands in {at}");
                return Err(refused(&node, "group_id", &value, &allowed));
            }
            entry.settings.retain(|(name, _)| *name != "group_id");
            entry.settings.push(("group_id", group));
        }
        Ok(())
    }

    /// Reads the keys of an object into a new entry.
    fn read(&mut self, at: &str, object: &Map<String, Value>) -> Result<BusNode, ParseError> {
        let name = object.get("dev").unwrap_or(&Value::Null);
        let parsed = name.as_str().and_then(|name| name.parse::<BusNode>().ok());
        let allowed = "dsaN, groupN.M, wqN.M or engineN.M";
        let node = parsed.ok_or_else(|| refused(&at, "dev", name, allowed))?;
        if self.entries.iter().any(|entry| entry.node == node) {
            return Err(refused(&at, "dev", name, "each name once"));
        }
        let mut entry = NodeSettings { node, settings: Vec::new(), enabled: None };
        for (name, value) in object {
            let Some(key) = keys::find(node, current_name(name)) else {
                let names: Vec<_> = keys::for_node(node).iter().map(|key| key.name).collect();
                return Err(refused(&node, name, value, &format!("one of {}", names.join(", "))));
            };
            if name == "state" {
                entry.enabled = Some(state(node, value)?);
            }
            let known = keys::for_node(node).iter().find(|known| known.name == key.name);
            if let (Some(known), Some(text)) = (known, text(node, name, key.form, value)?) {
                entry.settings.push((known.name, text));
            }
        }
        self.entries.push(entry);
        Ok(node)
    }
}

/// Name of a device that is an in-memory analytics accelerator (IAA), which has its numbers in common with the DSA
/// devices; `None` for other devices.
fn other_accelerator(device: &Map<String, Value>) -> Option<&str> {
    let name = device.get("dev")?.as_str()?;
    let number = name.strip_prefix("iax").or_else(|| name.strip_prefix("iaa"))?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

fn wrong_kind(at: &str, node: BusNode, allowed: &str) -> ParseError {
    refused(&at, "dev", &Value::from(node.to_string()), allowed)
}

/// Whether a node is enabled. All other states that `list` prints count as disabled.
fn state(node: BusNode, value: &Value) -> Result<bool, ParseError> {
    const STATES: &[&str] = &["enabled", "disabled", "quiescing", "locked", "halted", "unknown"];
    let word = value.as_str().filter(|word| STATES.contains(word));
    let word = word.ok_or_else(|| refused(&node, "state", value, &STATES.join(", ")))?;
    Ok(word == "enabled")
}

/// The text to write to the attribute; `None` if the key does not set one.
fn text(
    node: BusNode,
    name: &str,
    form: Form,
    value: &Value,
) -> Result<Option<String>, ParseError> {
    let (text, allowed) = match form {
        Form::Shown | Form::Structure => return Ok(None),
        Form::Number { least } => {
            let number = value.as_i64().filter(|&number| number >= least);
            (number.map(|number| number.to_string()), format!("a whole number from {least} on"))
        }
        Form::Word(words) => {
            let word = value.as_str().filter(|word| words.contains(word));
            (word.map(str::to_owned), words.join(", "))
        }
        Form::Text => (value.as_str().map(str::to_owned), "a text in quotes".to_owned()),
    };
    text.map(Some).ok_or_else(|| refused(&node, name, value, &allowed))
}

fn members<'a>(
    at: &str,
    object: &'a Map<String, Value>,
    key: &str,
) -> Result<Vec<&'a Map<String, Value>>, ParseError> {
    object.get(key).map_or(Ok(Vec::new()), |value| objects(at, key, value))
}

fn objects<'a>(
    at: &str,
    key: &str,
    value: &'a Value,
) -> Result<Vec<&'a Map<String, Value>>, ParseError> {
    let list = value.as_array().ok_or_else(|| refused(&at, key, value, "a list in brackets"))?;
    let object = |member: &'a Value| {
        member.as_object().ok_or_else(|| refused(&at, key, member, "objects in braces"))
    };
    list.iter().map(object).collect()
}

/// Replaces commas in front of a closing bracket by blanks, so that lines and columns of errors stay right.
/// json-c, which accel-config uses, accepts such commas, and a file of its package has some.
fn without_last_commas(text: &str) -> String {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped, mut comma) = (false, false, None);
    for letter in text.chars() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
        } else if matches!(letter, ']' | '}') {
            if let Some(comma) = comma.take() {
                out[comma] = ' ';
            }
        } else if letter == ',' {
            comma = Some(out.len());
        } else if !letter.is_whitespace() {
            comma = None;
            in_string = letter == '"';
        }
        out.push(letter);
    }
    out.into_iter().collect()
}

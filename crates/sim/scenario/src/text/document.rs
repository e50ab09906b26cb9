//! Converts TOML text to a typed value, with errors that name file and key.

use crate::text::error::{InputError, suggest};
use crate::text::tracked_value::{self, ConversionNotes};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Parses the text of a file.
///
/// # Errors
/// If the text is not TOML.
pub(crate) fn parse(file: &str, text: &str) -> Result<toml::Table, InputError> {
    text.parse().map_err(|error: toml::de::Error| InputError::Syntax {
        file: file.into(),
        reason: error.to_string().trim_end().into(),
    })
}

/// Applies overrides (`key=value` of the command line) to the table of a file.
///
/// # Errors
/// If an override passes through a value that is not a table.
pub(crate) fn apply_overrides(
    table: &mut toml::Table,
    overrides: &[(String, String)],
) -> Result<(), InputError> {
    overrides.iter().try_for_each(|(key, value)| set(table, key, value))
}

/// Converts a table to `V`; keys that `V` does not know are refused.
///
/// # Errors
/// For an unknown key, a missing one, or a value of the wrong kind.
pub(crate) fn interpret<V: DeserializeOwned + JsonSchema>(
    file: &str,
    table: toml::Table,
) -> Result<V, InputError> {
    let keys: Vec<String> = table.keys().cloned().collect();
    let (result, ConversionNotes { mut unknown, refused }) =
        tracked_value::convert(toml::Value::Table(table));
    if result.is_err() && unknown.is_empty() {
        // An error stops the reading before all keys are seen.
        let schema = schemars::schema_for!(V).to_value();
        unknown.extend(keys.into_iter().find(|key| schema["properties"].get(key).is_none()));
    }
    if let Some(key) = unknown.into_iter().next() {
        let known = suggest_key(&key, &schemars::schema_for!(V).to_value());
        return Err(InputError::UnknownKey { file: file.into(), key, known });
    }
    result.map_err(|error: toml::de::Error| {
        let reason = plain_types(error.message());
        let advice = unknown_name(error.message());
        let (key, reason) = match (missing_key(&reason), refused) {
            (Some(missing), None) => (missing, "is missing".into()),
            (Some(missing), Some(path)) => (format!("{path}.{missing}"), "is missing".into()),
            (None, path) if reason.contains("unit variant") => {
                let path = path.unwrap_or_default();
                let names = names_of(&path, &schemars::schema_for!(V).to_value());
                (path, format!("expected one of {}", names.join(", ")))
            }
            (None, path) => (path.unwrap_or_else(|| ".".into()), advice.unwrap_or(reason)),
        };
        InputError::WrongValue { file: file.into(), key, reason }
    })
}

fn set(table: &mut toml::Table, key: &str, value: &str) -> Result<(), InputError> {
    let wrong = |reason: &str| InputError::WrongValue {
        file: "--set".into(),
        key: key.into(),
        reason: reason.into(),
    };
    let (parents, leaf) = key.rsplit_once('.').map_or(("", key), |split| split);
    if leaf.is_empty() {
        return Err(wrong("a key is missing; write --set key=value"));
    }
    if let Some((list, number)) = missing_entry(table, key) {
        return Err(wrong(&format!(
            "there is no list `{list}`, so no entry {number}: write [[{list}]] in the file"
        )));
    }
    let mut place = table;
    let mut parents = parents.split('.').filter(|part| !part.is_empty()).peekable();
    while let Some(parent) = parents.next() {
        let entry = place.entry(parent).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let next = match entry {
            toml::Value::Array(entries) => {
                let known = entries.len();
                let number = parents.next().and_then(|number| number.parse::<usize>().ok());
                number.and_then(|number| entries.get_mut(number)).ok_or_else(|| {
                    wrong(&format!("`{parent}` is a list: write {parent}.N.key, N below {known}"))
                })?
            }
            // A single [co_runner] is a list of one.
            entry => {
                parents.next_if_eq(&"0");
                entry
            }
        };
        place = next.as_table_mut().ok_or_else(|| wrong("goes through a key that is no table"))?;
    }
    place.insert(leaf.into(), value_of(value));
    Ok(())
}

/// List and number of an entry of a list of tables, if the file has no such list. Created by `--set`,
/// it would be one more tenant or co-runner instead of a change of one.
fn missing_entry<'k>(file: &toml::Table, key: &'k str) -> Option<(&'k str, &'k str)> {
    let (list, rest) = key.split_once('.')?;
    let (number, _) = rest.split_once('.')?;
    number.parse::<usize>().ok()?;
    (!file.contains_key(list)).then_some((list, number))
}

/// A TOML value if the text is one, else the text itself: paths and names need no quotes.
fn value_of(text: &str) -> toml::Value {
    let document = format!("value = {text}");
    match document.parse::<toml::Table>() {
        Ok(mut table) if table.len() == 1 => {
            table.remove("value").unwrap_or_else(|| toml::Value::String(text.into()))
        }
        _ => toml::Value::String(text.into()),
    }
}

/// The known key of the schema that is nearest to the unknown one.
fn suggest_key(path: &str, schema: &serde_json::Value) -> String {
    let (parents, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let place = at(parents, schema);
    let known: Vec<String> = place["properties"]
        .as_object()
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    suggest(leaf, &known)
}

/// The names that a key of the schema may have as its value.
fn names_of(path: &str, schema: &serde_json::Value) -> Vec<String> {
    let place = at(path, schema);
    // Names with a description are apart, those without in lists.
    let apart = place["oneOf"].as_array().into_iter().flatten();
    let named = |one: &serde_json::Value| match one["enum"].as_array() {
        Some(several) => several.clone(),
        None => one.get("const").into_iter().cloned().collect(),
    };
    let all = std::iter::once(place).chain(apart).flat_map(named);
    all.map(|name| name.to_string()).collect()
}

/// The schema of the key at a dotted path; the whole one at an empty path.
fn at<'s>(path: &str, schema: &'s serde_json::Value) -> &'s serde_json::Value {
    path.split('.').filter(|part| !part.is_empty()).fold(schema, |place, part| {
        let is_entry = part.parse::<usize>().is_ok();
        let inner = if is_entry { &place["items"] } else { &place["properties"][part] };
        resolve(inner, schema)
    })
}

/// Follows references into the schema's definitions, through optional values.
fn resolve<'s>(
    place: &'s serde_json::Value,
    schema: &'s serde_json::Value,
) -> &'s serde_json::Value {
    let inner = place["anyOf"].get(0).unwrap_or(place);
    match inner["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        Some(name) => &schema["$defs"][name],
        None => inner,
    }
}

/// The missing key in a message of serde.
fn missing_key(message: &str) -> Option<String> {
    message.strip_prefix("missing field `")?.split('`').next().map(String::from)
}

/// The refusal of a name that none of the known ones is, from the message of serde.
fn unknown_name(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown variant `")?.split('`').step_by(2);
    let name = quoted.next()?;
    let known: Vec<String> = quoted.map(String::from).filter(|known| !known.is_empty()).collect();
    let near = suggest(name, &known);
    let all = if near.starts_with("known here") {
        String::new()
    } else {
        format!(" Known here: {}", known.join(", "))
    };
    Some(format!("\"{name}\" is not known; {near}{all}"))
}

/// Replaces the words and type names of serde by terms for users.
fn plain_types(message: &str) -> String {
    let message = match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => message.to_string(),
    };
    let message = match message.split_once(", expected ") {
        Some((found, expected)) => format!("{}; expected {expected}", plain_value(found)),
        None => message,
    };
    message
        .replace("expected u32", "expected a whole number from 0 to 4294967295")
        .replace("expected u64", "expected a whole number, 0 or more")
        .replace("expected usize", "expected a whole number, 0 or more")
        .replace("expected f64", "expected a number")
        .replace("expected a string", "expected a text")
        .replace("expected a sequence", "expected a list")
        .replace("expected a map", "expected a table")
        .replace("expected a boolean", "expected true or false")
        .trim_end()
        .to_string()
}

/// A value that serde refuses, and its kind in terms for users.
fn plain_value(found: &str) -> String {
    let Some(value) =
        ["invalid type: ", "invalid value: "].iter().find_map(|words| found.strip_prefix(words))
    else {
        return found.to_string();
    };
    let kinds = [
        ("string ", "a text"),
        ("integer ", "a whole number"),
        ("floating point ", "a number with a fraction"),
        ("boolean ", "true or false"),
    ];
    for (word, kind) in kinds {
        if let Some(value) = value.strip_prefix(word) {
            return format!("{} is {kind}", value.trim_matches('`'));
        }
    }
    match value {
        "map" => "it is a table".into(),
        "sequence" => "it is a list".into(),
        other => format!("it is {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Outer {
        cores: u32,
        inner: Option<Inner>,
        #[serde(default)]
        more: Vec<Inner>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        pattern: String,
    }

    fn read(text: &str, overrides: &[(&str, &str)]) -> Result<Outer, InputError> {
        let owned: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let mut table = parse("a.toml", text)?;
        apply_overrides(&mut table, &owned)?;
        interpret("a.toml", table)
    }

    fn message(text: &str, overrides: &[(&str, &str)]) -> String {
        read(text, overrides).expect_err("must be refused").to_string()
    }

    #[test]
    fn overrides_win_and_create_tables() {
        let outer = read("cores = 1", &[("cores", "0x10"), ("inner.pattern", "/a/b.pcap")])
            .expect("is valid");
        assert_eq!(outer.cores, 16);
        assert_eq!(outer.inner.map(|inner| inner.pattern).as_deref(), Some("/a/b.pcap"));
    }

    #[test]
    fn an_entry_of_a_list_that_the_file_lacks_is_refused() {
        let advice = "there is no list `more`, so no entry 0: write [[more]] in the file";
        let text = message("cores = 1", &[("more.0.pattern", "x")]);
        assert_eq!(text, format!("--set: `more.0.pattern`: {advice}"));
        // There is no list of tables further down.
        let text = message("cores = 1", &[("inner.pattern.0.x", "1")]);
        assert!(!text.contains("[["), "{text}");
    }

    #[test]
    fn a_single_table_is_the_first_entry_of_its_list() {
        let pattern = |key: &str| {
            let overrides = [(key.to_string(), "y".to_string())];
            let mut document = parse("a.toml", "[more]\npattern = 'x'").expect("is valid");
            apply_overrides(&mut document, &overrides).expect("are valid");
            document["more"]["pattern"].clone()
        };
        assert_eq!((pattern("more.pattern"), pattern("more.0.pattern")), ("y".into(), "y".into()));
    }

    #[test]
    fn an_unknown_key_names_its_place_and_the_nearest_known_one() {
        let text = message("cores = 1\n[inner]\npatern = 'x'\npattern = 'y'", &[]);
        assert_eq!(text, "a.toml: unknown key `inner.patern`; did you mean `pattern`?");
        let text = message("cores = 1\n[[more]]\npatern = 'x'", &[]);
        assert_eq!(text, "a.toml: unknown key `more.0.patern`; did you mean `pattern`?");
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_its_key() {
        let text = message("cores = 1", &[("cores", "many")]);
        assert!(
            text.starts_with("a.toml: `cores`: \"many\" is a text; expected a whole"),
            "{text}"
        );
        let text = message("cores = -1", &[]);
        assert!(text.starts_with("a.toml: `cores`: -1 is a whole number; expected a"), "{text}");
        let text = message("cores = 1\n[[more]]\npattern = 'x'\n[[more]]\npattern = 3", &[]);
        assert_eq!(text, "a.toml: `more.1.pattern`: 3 is a whole number; expected a text");
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        OneByOne,
        /// In any order.
        Shuffled,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Cards {
        order: Order,
    }

    fn refused_cards(text: &str) -> String {
        let read = interpret::<Cards>("a.toml", text.parse().expect("is TOML"));
        read.map(|cards| format!("{:?}", cards.order)).expect_err("is refused").to_string()
    }

    #[test]
    fn a_number_in_place_of_a_name_lists_the_names() {
        let text = refused_cards("order = 3");
        assert_eq!(text, "a.toml: `order`: expected one of \"one-by-one\", \"shuffled\"");
    }

    #[test]
    fn a_mistyped_name_gets_the_nearest_one_and_all() {
        assert_eq!(
            refused_cards("order = 'Shufled'"),
            "a.toml: `order`: \"Shufled\" is not known; did you mean `shuffled`? Known here: \
             one-by-one, shuffled"
        );
        assert_eq!(
            refused_cards("order = 'elsewhere'"),
            "a.toml: `order`: \"elsewhere\" is not known; known here: one-by-one, shuffled"
        );
    }

    #[test]
    fn a_missing_key_is_named_with_its_place() {
        assert_eq!(message("", &[]), "a.toml: `cores`: is missing");
        let text = message("cores = 1\n[inner]", &[]);
        assert_eq!(text, "a.toml: `inner.pattern`: is missing");
    }

    #[test]
    fn a_number_in_place_of_a_table_is_refused_in_plain_words() {
        let text = message("cores = 1\ninner = 5", &[]);
        assert!(text.contains("`inner`") && text.ends_with("expected a table"), "{text}");
    }

    #[test]
    fn a_syntax_error_says_where() {
        assert!(message("cores = ", &[]).contains("line 1"), "{}", message("cores = ", &[]));
    }
}

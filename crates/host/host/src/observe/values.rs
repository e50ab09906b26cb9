//! Values of the observed scenario, each with its source, and what is asked for.

use serde::Serialize;

use crate::error::FileError;
use crate::status::Notes;
use crate::unavailable::Unavailable;

/// How a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueOrigin {
    /// Read from a file or register.
    Read,
    /// Counted or computed from what was counted in the window.
    Measured,
    /// Assumed; the source says why.
    Assumed,
    /// Stated by the user.
    Stated,
}

impl ValueOrigin {
    /// The word in files and tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Measured => "measured",
            Self::Assumed => "assumed",
            Self::Stated => "stated",
        }
    }
}

/// A value of a scenario, with its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedValue {
    /// Key of the scenario, like `hardware.pcie.lanes`; in a tenant beside the main one `tenant.0.cores`.
    pub key: String,
    /// The value; `None` leaves the choice to the simulator.
    pub value: Option<toml::Value>,
    /// How the value was found.
    pub origin: ValueOrigin,
    /// File, register, counter or reason.
    pub source: String,
}

/// A value that nothing here tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// Key of the scenario that an answer states.
    pub key: String,
    /// The question, and why it is open.
    pub question: String,
}

/// All that was found so far.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) values: Vec<ObservedValue>,
    pub(super) questions: Vec<OpenQuestion>,
    /// Activity that is not part of the scenario, with the reason.
    pub(super) left_out: Vec<String>,
    pub(super) notes: Notes,
    /// Number of tenants beside the main one.
    pub(super) tenants: usize,
    /// The beginning of keys: nothing, or the tenant whose values are being found.
    prefix: String,
}

impl Findings {
    /// Finds the values of a further tenant: keys begin with its number until `find` returns.
    pub(super) fn tenant(&mut self, find: impl FnOnce(&mut Self)) {
        self.prefix = format!("tenant.{}.", self.tenants);
        self.tenants += 1;
        find(self);
        self.prefix.clear();
    }

    /// Whether the values are those of a tenant beside the main one.
    pub(super) fn is_of_tenant(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// A key of the present tenant as an answer names it.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    pub(super) fn add(
        &mut self,
        key: impl AsRef<str>,
        value: impl Into<toml::Value>,
        origin: ValueOrigin,
        source: impl Into<String>,
    ) {
        let (key, value) = (self.key(key.as_ref()), Some(value.into()));
        self.values.push(ObservedValue { key, value, origin, source: source.into() });
    }

    /// Leaves a value to the platform or the simulator.
    pub(super) fn leave(&mut self, key: impl AsRef<str>, why: impl Into<String>) {
        let origin = ValueOrigin::Assumed;
        let (key, source) = (self.key(key.as_ref()), why.into());
        self.values.push(ObservedValue { key, value: None, origin, source });
    }

    pub(super) fn ask(&mut self, key: impl AsRef<str>, question: impl Into<String>) {
        let key = self.key(key.as_ref());
        self.questions.push(OpenQuestion { key, question: question.into() });
    }

    pub(super) fn take<T>(&mut self, what: &str, read: Result<T, FileError>) -> Option<T> {
        self.notes.take(what, read)
    }

    pub(super) fn note(&mut self, unread: Unavailable) {
        self.notes.add(unread);
    }

    /// The value that a key of the present tenant has so far.
    pub(super) fn value(&self, key: &str) -> Option<&toml::Value> {
        let key = self.key(key);
        self.values.iter().find(|value| value.key == key).and_then(|value| value.value.as_ref())
    }

    /// The text that a key has so far.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value(key).and_then(toml::Value::as_str).map(str::to_owned)
    }

    /// Whether the main tenant states a key, which the others then inherit.
    pub(super) fn is_inherited(&self, key: &str) -> bool {
        self.values.iter().any(|value| value.key == key && value.value.is_some())
    }

    /// Cores of all tenants of a socket of the simulator.
    pub(super) fn cores_of(&self, socket: i64) -> usize {
        let number = |key: &str| {
            let found = self.values.iter().find(|value| value.key == key);
            found.and_then(|value| value.value.as_ref()?.as_integer())
        };
        let prefixes = (0..self.tenants).map(|tenant| format!("tenant.{tenant}."));
        let own = std::iter::once(String::new()).chain(prefixes).filter_map(|prefix| {
            let of = number(&format!("{prefix}socket")).unwrap_or(0);
            let cores = number(&format!("{prefix}cores")).unwrap_or(1);
            (of == socket).then(|| usize::try_from(cores).unwrap_or(0))
        });
        own.sum()
    }

    /// States the user's answers: they replace what was found, and close questions.
    pub(super) fn answer(&mut self, answers: &[(String, toml::Value)]) {
        for (key, value) in answers {
            self.values.retain(|known| known.key != *key);
            self.questions.retain(|open| open.key != *key);
            self.add(key.clone(), value.clone(), ValueOrigin::Stated, "--set");
        }
    }
}

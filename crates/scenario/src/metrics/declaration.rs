//! Declaration of a metric: its name, unit, group and label, a sentence about it, and its computation
//! from its subject.

use crate::result::Numbers;
use crate::run::sample::Sample;
use schemars::JsonSchema;
use serde::Serialize;
use std::rc::Rc;

/// Metrics that are read together. Tables show the groups in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Group {
    /// Hits, misses and contents of caches.
    Cache,
    /// The wire, the PCIe link and the root complex behind it.
    Link,
    /// Packets received, sent and dropped.
    Packets,
    /// Lines moved by memory.
    Memory,
    /// Transfers of SSDs.
    Storage,
    /// Work of copy engines, and of the cores that use them.
    CopyEngines,
    /// Work of software on its cores.
    Cores,
    /// Detections of processes that watch cache sets.
    Probes,
    /// Distributions of time.
    Latency,
    /// Which agent's allocations evicted whose lines.
    Evictions,
}

/// Appearance of a metric in every result, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Description {
    /// The group that it is shown with.
    pub group: Group,
    /// Its name for people.
    pub label: &'static str,
    /// Whether it is among the few that are shown first.
    pub headline: bool,
}

/// Everything about a metric except its computation.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its name in results.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its appearance in tables.
    pub description: Description,
    /// Its meaning: a sentence for the reference.
    pub about: &'static str,
    /// Whether timelines show it batch by batch.
    pub in_timeline: bool,
}

/// A declaration that lacks its sentence.
pub struct Named {
    name: &'static str,
    unit: &'static str,
    group: Group,
    label: &'static str,
}

/// Begins a declaration.
pub const fn named(
    group: Group,
    name: &'static str,
    unit: &'static str,
    label: &'static str,
) -> Named {
    Named { name, unit, group, label }
}

impl Named {
    /// Adds the sentence.
    pub const fn about(self, about: &'static str) -> Declaration {
        let Self { name, unit, group, label } = self;
        let description = Description { group, label, headline: false };
        Declaration { name, unit, description, about, in_timeline: false }
    }
}

impl Declaration {
    /// Shows the metric among the first.
    pub const fn headline(mut self) -> Self {
        self.description.headline = true;
        self
    }

    /// Shows the metric in timelines.
    pub const fn in_timeline(mut self) -> Self {
        self.in_timeline = true;
        self
    }

    /// A rate or share: that of the whole measured time.
    pub const fn rate<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Rate, value: Value::One(of) }
    }

    /// A rate or share for each of several, which `by` names.
    pub const fn rate_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Rate, value: Value::By(by, of) }
    }

    /// A count: the total over the measured time.
    pub const fn count<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Count, value: Value::One(of) }
    }

    /// A count for each of several, which `by` names.
    pub const fn count_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Count, value: Value::By(by, of) }
    }

    /// A level: the mean of the readings at the ends of the batches.
    pub const fn level<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Level, value: Value::One(of) }
    }

    /// A level for each of several, which `by` names.
    pub const fn level_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Level, value: Value::By(by, of) }
    }
}

/// How the batches of a metric are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A rate or share: that of the whole measured time.
    Rate,
    /// A count: the total over the measured time.
    Count,
    /// A level: the mean of the readings at the ends of the batches.
    Level,
}

/// Subject of metrics: the machine, a NIC, the cores of a tenant.
pub trait Subject {
    /// The data that its metrics are computed from.
    type View<'a>
    where
        Self: 'a;

    /// Finds the subject in a sample.
    fn view<'a>(&'a self, sample: &'a Sample) -> Self::View<'a>;
}

/// A number of a subject; not a number, null in JSON, where nothing was counted.
pub type One<S> = fn(&<S as Subject>::View<'_>) -> f64;
/// Numbers of a subject by name.
pub type Each<S> = fn(&<S as Subject>::View<'_>) -> Vec<(String, f64)>;

enum Value<S: Subject> {
    One(One<S>),
    By(&'static str, Each<S>),
}

/// A metric of a kind of subject.
pub struct Metric<S: Subject> {
    /// Its declaration.
    pub declaration: Declaration,
    /// How batches combine.
    pub kind: Kind,
    value: Value<S>,
}

impl<S: Subject> Metric<S> {
    /// What the keys of its numbers name, if it has several.
    #[must_use]
    pub fn by(&self) -> Option<&'static str> {
        match self.value {
            Value::One(_) => None,
            Value::By(by, _) => Some(by),
        }
    }

    fn of(&self, view: &S::View<'_>) -> Numbers {
        match self.value {
            Value::One(of) => Numbers::One(of(view)),
            Value::By(_, of) => Numbers::Parts(of(view).into_iter().collect()),
        }
    }
}

/// A metric of one subject.
pub struct Measured {
    /// Its name in results: a tenant's begins with the tenant's name.
    pub name: String,
    /// Its declaration.
    pub declaration: &'static Declaration,
    /// How batches combine.
    pub kind: Kind,
    compute: Box<dyn Fn(&Sample) -> Numbers>,
}

impl Measured {
    /// Its numbers in a sample.
    #[must_use]
    pub fn of(&self, sample: &Sample) -> Numbers {
        (self.compute)(sample)
    }
}

/// The metrics of one subject; their names begin with `prefix`.
pub fn measured<S: Subject + 'static>(
    metrics: &'static [Metric<S>],
    prefix: &str,
    subject: S,
) -> impl Iterator<Item = Measured> + use<S> {
    let (subject, prefix) = (Rc::new(subject), prefix.to_owned());
    metrics.iter().map(move |metric| {
        let subject = Rc::clone(&subject);
        Measured {
            name: format!("{prefix}{}", metric.declaration.name),
            declaration: &metric.declaration,
            kind: metric.kind,
            compute: Box::new(move |sample| metric.of(&subject.view(sample))),
        }
    })
}

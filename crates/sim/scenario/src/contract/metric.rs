//! Declaration of a metric: its name, unit, group and label, a sentence about it, and its computation
//! from its subject.

use crate::contract::sample::Sample;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
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
    /// Name of the metric for people.
    pub label: &'static str,
    /// Whether it is among the few that are shown first.
    pub headline: bool,
}

/// Everything about a metric except its computation.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Name of the metric in results.
    pub name: &'static str,
    /// Unit of the metric.
    pub unit: &'static str,
    /// Appearance of the metric in tables.
    pub description: Description,
    /// Its meaning: a sentence for the reference.
    pub about: &'static str,
    /// Whether timelines show it batch by batch.
    pub in_timeline: bool,
}

/// A declaration that lacks its sentence.
pub(crate) struct Named {
    name: &'static str,
    unit: &'static str,
    group: Group,
    label: &'static str,
}

/// Begins a declaration.
pub(crate) const fn named(
    group: Group,
    name: &'static str,
    unit: &'static str,
    label: &'static str,
) -> Named {
    Named { name, unit, group, label }
}

impl Named {
    /// Adds the sentence.
    pub(crate) const fn about(self, about: &'static str) -> Declaration {
        let Self { name, unit, group, label } = self;
        let description = Description { group, label, headline: false };
        Declaration { name, unit, description, about, in_timeline: false }
    }
}

impl Declaration {
    /// Shows the metric among the first.
    pub(crate) const fn headline(mut self) -> Self {
        self.description.headline = true;
        self
    }

    /// Shows the metric in timelines.
    pub(crate) const fn in_timeline(mut self) -> Self {
        self.in_timeline = true;
        self
    }

    /// A rate or share: that of the whole measured time.
    pub(crate) const fn rate<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Rate, value: Value::One(of) }
    }

    /// A rate or share for each of several, which `by` names.
    pub(crate) const fn rate_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Rate, value: Value::By(by, of) }
    }

    /// A count: the total over the measured time.
    pub(crate) const fn count<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Count, value: Value::One(of) }
    }

    /// A count for each of several, which `by` names.
    pub(crate) const fn count_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Count, value: Value::By(by, of) }
    }

    /// A level: the mean of the readings at the ends of the batches.
    pub(crate) const fn level<S: Subject>(self, of: One<S>) -> Metric<S> {
        Metric { declaration: self, kind: Kind::Level, value: Value::One(of) }
    }

    /// A level for each of several, which `by` names.
    pub(crate) const fn level_by<S: Subject>(self, by: &'static str, of: Each<S>) -> Metric<S> {
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
pub(crate) trait Subject {
    /// The data that its metrics are computed from.
    type View<'a>
    where
        Self: 'a;

    /// Finds the subject in a sample.
    fn view<'a>(&'a self, sample: &'a Sample) -> Self::View<'a>;
}

/// A number of a subject; not a number, null in JSON, where nothing was counted.
pub(crate) type One<S> = fn(&<S as Subject>::View<'_>) -> f64;
/// Numbers of a subject by name.
pub(crate) type Each<S> = fn(&<S as Subject>::View<'_>) -> Vec<(String, f64)>;

enum Value<S: Subject> {
    One(One<S>),
    By(&'static str, Each<S>),
}

/// A metric of a kind of subject.
pub(crate) struct Metric<S: Subject> {
    /// Name, unit and appearance of the metric.
    pub declaration: Declaration,
    /// How batches combine.
    pub kind: Kind,
    value: Value<S>,
}

impl<S: Subject> Metric<S> {
    /// The kind of thing that the keys of its numbers name, if it has several.
    #[must_use]
    pub(crate) fn by(&self) -> Option<&'static str> {
        match self.value {
            Value::One(_) => None,
            Value::By(by, _) => Some(by),
        }
    }

    fn numbers(&self, view: &S::View<'_>) -> Numbers {
        match self.value {
            Value::One(of) => Numbers::One(of(view)),
            Value::By(_, of) => Numbers::Parts(of(view).into_iter().collect()),
        }
    }
}

/// One number, or numbers by name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Numbers {
    /// One number.
    One(#[schemars(with = "Option<f64>")] f64),
    /// Numbers by name.
    Parts(#[schemars(with = "BTreeMap<String, Option<f64>>")] BTreeMap<String, f64>),
}

impl Numbers {
    /// The number without a name, or the one with a given name.
    #[must_use]
    pub fn number(&self, name: Option<&str>) -> Option<f64> {
        match (self, name) {
            (Self::One(number), None) => Some(*number),
            (Self::Parts(parts), Some(name)) => parts.get(name).copied(),
            _ => None,
        }
    }
}

/// A metric of one subject.
pub struct Measured {
    /// Its name in results: a tenant's begins with the tenant's name.
    pub name: String,
    /// Name, unit and appearance of the metric.
    pub declaration: &'static Declaration,
    /// How batches combine.
    pub kind: Kind,
    compute: Box<dyn Fn(&Sample) -> Numbers>,
}

impl Measured {
    /// Its numbers in a sample.
    #[must_use]
    pub fn numbers(&self, sample: &Sample) -> Numbers {
        (self.compute)(sample)
    }
}

/// The metrics of one subject; their names begin with `prefix`.
pub(crate) fn measured<S: Subject + 'static>(
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
            compute: Box::new(move |sample| metric.numbers(&subject.view(sample))),
        }
    })
}

/// A metric in the reference, with its whole declaration.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Name of the metric in results.
    pub name: &'static str,
    /// Unit of the metric.
    pub unit: &'static str,
    /// Appearance of the metric in tables.
    #[serde(flatten)]
    pub description: Description,
    /// How batches combine; none for figures of all batches' histograms together.
    pub kind: Option<Kind>,
    /// The kind of thing that the keys of its numbers name, if it has several.
    pub by: Option<&'static str>,
    /// Its subject. Names of the metrics of tenants other than the main one begin with `NAME:`.
    pub of: Scope,
    /// Meaning of the metric, as a sentence.
    pub about: &'static str,
}

/// Subject of a metric: the part of the machine that it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The whole machine, or each core of it.
    Machine,
    /// A tenant: its devices and cores.
    Tenant,
}

/// Metrics of a kind of subject, as the reference shows them.
pub(crate) fn entries<S: Subject>(
    metrics: &'static [Metric<S>],
    of: Scope,
) -> impl Iterator<Item = Entry> {
    metrics.iter().map(move |metric| entry(&metric.declaration, Some(metric.kind), metric.by(), of))
}

/// A declaration in the reference.
pub(crate) fn entry(
    declaration: &Declaration,
    kind: Option<Kind>,
    by: Option<&'static str>,
    of: Scope,
) -> Entry {
    let &Declaration { name, unit, description, about, in_timeline: _ } = declaration;
    Entry { name, unit, description, kind, by, of, about }
}

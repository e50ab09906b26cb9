//! Results as text: the line of dsa-perf-micros for one target, a table for several.

use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::{BenchResult, BenchResults, PointResults};
use crate::sizes;
use std::fmt::Write;

/// The text that `bench` prints: results, then phases and crossings, if there are any.
#[must_use]
pub fn text(options: &BenchOptions, measured: &BenchResults) -> String {
    let mut text = if measured.targets.len() == 1 { lines(measured) } else { table(measured) };
    if options.out.phases {
        text += &phases(measured);
    }
    for crossing in crossings(measured) {
        text += &crossing;
    }
    text
}

/// A line for each point, and nothing else: the format that scripts of dsa-perf-micros parse.
fn lines(measured: &BenchResults) -> String {
    measured
        .points
        .iter()
        .map(|point| format!("{}\n", point.answers[0].line(&point.point)))
        .collect()
}

fn table(measured: &BenchResults) -> String {
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(measured.targets.iter().map(|target| format!("{target}: GB/s, cpu %, kops/s")));
    for point in &measured.points {
        let mut row = vec![point.point.conditions()];
        row.extend(point.answers.iter().map(cell));
        rows.push(row);
    }
    let columns = rows[0].len();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let _ = write!(text, "{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

fn cell(answer: &BenchResult) -> String {
    let (rate, cpu, kops) = (answer.gbytes_per_s, answer.cpu_percent, answer.kops_per_s);
    format!("{}, {cpu:.0}, {}", short(rate), short(kops))
}

/// About three digits of a number.
fn short(number: f64) -> String {
    match number {
        _ if number >= 100.0 => format!("{number:.0}"),
        _ if number >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

fn phases(measured: &BenchResults) -> String {
    let mut text = String::from("time of a thread for an operation:\n");
    for point in &measured.points {
        for (target, answer) in measured.targets.iter().zip(&point.answers) {
            let phases = answer.phases_line();
            let _ = writeln!(text, "  {target}, {}: {phases}", point.point.conditions());
        }
    }
    text
}

/// With several targets and at least three sizes: from which size on the first target is faster than each
/// other one.
fn crossings(measured: &BenchResults) -> Vec<String> {
    let mut sentences = Vec::new();
    if measured.targets.len() < 2 {
        return sentences;
    }
    for series in series(&measured.points) {
        if series.len() < 3 {
            continue;
        }
        let rates = |target: usize| -> Vec<(u64, f64)> {
            series
                .iter()
                .map(|point| (point.point.size_bytes, point.answers[target].gbytes_per_s))
                .collect()
        };
        let first = rates(0);
        for (number, target) in measured.targets.iter().enumerate().skip(1) {
            let name = &measured.targets[0];
            let fate = match crossing(&first, &rates(number)) {
                Some(bytes) if bytes <= first[0].0 => "at every size".to_owned(),
                Some(bytes) => format!("from {bytes} B on"),
                None => format!("at no size up to {}", sizes::show(first[first.len() - 1].0)),
            };
            let others = other_conditions(&series[0].point);
            sentences.push(format!("{name} is faster than {target} {fate}{others}\n"));
        }
    }
    sentences
}

/// The conditions apart from the size, if they are not the defaults.
fn other_conditions(point: &BenchPoint) -> String {
    let all = point.conditions();
    let rest = all.split(' ').skip(2).collect::<Vec<_>>().join(" ");
    if rest.is_empty() { rest } else { format!(" ({rest})") }
}

/// Groups the points into series that differ in their size alone, each in the order of sizes.
#[must_use]
pub fn series(points: &[PointResults]) -> Vec<Vec<&PointResults>> {
    let mut all: Vec<Vec<&PointResults>> = Vec::new();
    for point in points {
        let key = |it: &BenchPoint| BenchPoint { size_bytes: 0, ..*it };
        match all.iter_mut().find(|one| key(&one[0].point) == key(&point.point)) {
            Some(one) => one.push(point),
            None => all.push(vec![point]),
        }
    }
    for one in &mut all {
        one.sort_by_key(|it| it.point.size_bytes);
    }
    all
}

/// The size in bytes from which on `mine` stays at least as fast as `other`, interpolated between measured
/// sizes on a logarithmic scale; `None`: `mine` is slower at the largest size. Both are (size, rate) at the
/// same sizes, in their order.
#[must_use]
pub fn crossing(mine: &[(u64, f64)], other: &[(u64, f64)]) -> Option<u64> {
    let gains: Vec<(f64, f64)> = mine
        .iter()
        .zip(other)
        .map(|(&(size, mine), &(_, other))| ((size as f64).log2(), mine - other))
        .collect();
    let last_loss = gains.iter().rposition(|&(_, gain)| gain < 0.0);
    let Some(before) = last_loss else { return mine.first().map(|it| it.0) };
    let &(to, gain) = gains.get(before + 1)?;
    let (from, loss) = gains[before];
    let at = from + (to - from) * loss / (loss - gain);
    // A size between two measured ones: it fits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(at.exp2().round() as u64)
}

#[cfg(test)]
mod tests {
    use super::crossing;

    #[test]
    fn a_crossing_lies_between_the_sizes_around_it() {
        let other = [(64, 1.0), (128, 1.0), (256, 1.0)];
        assert_eq!(crossing(&[(64, 0.5), (128, 0.5), (256, 1.5)], &other), Some(181));
        assert_eq!(crossing(&[(64, 2.0), (128, 2.0), (256, 2.0)], &other), Some(64));
        assert_eq!(crossing(&[(64, 2.0), (128, 2.0), (256, 0.5)], &other), None);
        // It has to stay ahead.
        assert_eq!(crossing(&[(64, 2.0), (128, 0.5), (256, 1.5)], &other), Some(181));
    }
}

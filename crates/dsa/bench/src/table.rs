//! Results as text: the line of dsa-perf-micros for one target, a table for several.

use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::results::{BenchResult, BenchResults, PointResults};
use crate::sizes;
use crate::target::BenchTarget;
use std::fmt::Write;

/// Heads of the numbers of a target.
const NUMBERS: [&str; 3] = ["GB/s", "cpu %", "kops/s"];
/// Spaces between two numbers of a target, and between two targets.
const GAP: &str = "  ";
const WIDE_GAP: &str = "    ";

/// The text that `bench` prints: results, then phases and crossings, if there are any.
#[must_use]
pub fn text(options: &BenchOptions, measured: &BenchResults) -> String {
    let mut text = if measured.targets.len() == 1 { lines(measured) } else { table(measured) };
    if options.out.phases {
        text += &phases(measured);
    }
    for sentence in crossings(measured) {
        text += &sentence;
    }
    text
}

/// A line for each point, and nothing else: the format that scripts of dsa-perf-micros parse.
fn lines(measured: &BenchResults) -> String {
    let line = |it: &PointResults| format!("{}\n", it.answers[0].line(&it.point));
    measured.points.iter().map(line).collect()
}

/// A column of conditions, then the numbers of each target below its name and its owner.
fn table(measured: &BenchResults) -> String {
    let conditions: Vec<String> = measured.points.iter().map(|it| it.point.conditions()).collect();
    let mut rows = vec![String::new(); 3 + conditions.len()];
    append_left(&mut rows[3..], &conditions);
    pad(&mut rows);
    for (number, target) in measured.targets.iter().enumerate() {
        let block = target_block(target, measured.points.iter().map(|it| &it.answers[number]));
        append_left(&mut rows, &block);
        pad(&mut rows);
    }
    rows.iter().map(|row| format!("{}\n", row.trim_end())).collect()
}

/// The part of the table of one target: its name, the owner of its numbers, the heads, and a row for each
/// point. Heads and values end in the same column.
fn target_block<'a>(
    target: &BenchTarget,
    answers: impl Iterator<Item = &'a BenchResult>,
) -> Vec<String> {
    let heads = NUMBERS.map(str::to_owned);
    let cells: Vec<[String; 3]> = std::iter::once(heads).chain(answers.map(cells)).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let row = |cells: &[String; 3]| {
        let each = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        format!("{WIDE_GAP}{}", each.collect::<Vec<_>>().join(GAP))
    };
    let titles = [target.to_string(), target.owner()].map(|it| format!("{WIDE_GAP}{it}"));
    titles.into_iter().chain(cells.iter().map(row)).collect()
}

fn append_left(rows: &mut [String], parts: &[String]) {
    rows.iter_mut().zip(parts).for_each(|(row, part)| row.push_str(part));
}

/// Makes all rows as long as the longest.
fn pad(rows: &mut [String]) {
    let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    for row in rows {
        *row = format!("{row:<width$}");
    }
}

fn cells(answer: &BenchResult) -> [String; 3] {
    let (rate, cpu, kops) = (answer.gbytes_per_s, answer.cpu_percent, answer.kops_per_s);
    [short(rate), format!("{cpu:.0}"), short(kops)]
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
/// other one of the same machine. Numbers of different machines are not compared.
fn crossings(measured: &BenchResults) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some((name, others)) = measured.targets.split_first() else { return sentences };
    for series in series(&measured.points).into_iter().filter(|series| series.len() >= 3) {
        for (number, target) in others.iter().enumerate() {
            if name.is_comparable(target) {
                sentences.push(crossing_sentence(&series, (0, name), (number + 1, target)));
            }
        }
    }
    let has_sizes = series(&measured.points).iter().any(|series| series.len() >= 3);
    for target in others.iter().filter(|it| has_sizes && !name.is_comparable(it)) {
        sentences.push(format!(
            "{name} is not compared with {target}: one is {}, the other {}\n",
            name.owner(),
            target.owner()
        ));
    }
    sentences
}

/// From which size on the first of two targets, each with its number, is faster.
fn crossing_sentence(
    series: &[&PointResults],
    (first, name): (usize, &BenchTarget),
    (second, other): (usize, &BenchTarget),
) -> String {
    let rates = |target: usize| -> Vec<(u64, f64)> {
        let rate = |it: &&PointResults| (it.point.size_bytes, it.answers[target].gbytes_per_s);
        series.iter().map(rate).collect()
    };
    let own = rates(first);
    let fate = match crossing(&own, &rates(second)) {
        Some(bytes) if bytes <= own[0].0 => "at every size".to_owned(),
        Some(bytes) => format!("from {bytes} B on"),
        None => format!("at no size up to {}", sizes::show(own[own.len() - 1].0)),
    };
    format!("{name} is faster than {other} {fate}{}\n", other_conditions(&series[0].point))
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

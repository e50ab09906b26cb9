//! Sorts lines into classes: lines with the same latency from every core are in one slice. Distances are
//! in units of the noise.

use super::latency::median;

/// Largest distance of a line from its own class, in units of the noise: the squared distance is
/// chi-squared with one degree of freedom for each processor; the radius is six standard deviations
/// beyond its mean, because the tails of real latencies are heavier.
pub(super) fn radius(cpus: usize) -> f64 {
    let cpus = cpus as f64;
    (cpus + 6.0 * (2.0 * cpus).sqrt()).sqrt()
}

/// Assigns each line to the nearest class within the radius; a line without one founds a class.
pub(super) fn classes(lines: &[Vec<f64>], radius: f64) -> Vec<Vec<usize>> {
    let mut centres: Vec<Vec<f64>> = Vec::new();
    for line in lines {
        if nearest(&centres, line).is_none_or(|(_, distance)| distance > radius) {
            centres.push(line.clone());
        }
    }
    const ROUNDS: usize = 8;
    let mut members = Vec::new();
    for _ in 0..ROUNDS {
        members = vec![Vec::new(); centres.len()];
        for (index, line) in lines.iter().enumerate() {
            if let Some((class, _)) = nearest(&centres, line) {
                members[class].push(index);
            }
        }
        members.retain(|class: &Vec<usize>| !class.is_empty());
        centres = without_duplicates(
            members.iter().map(|class| centre(lines, class)).collect(),
            radius / 2.0,
        );
    }
    members
}

/// Removes duplicates: of two centres within the radius of each other the first is kept.
fn without_duplicates(centres: Vec<Vec<f64>>, radius: f64) -> Vec<Vec<f64>> {
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for candidate in centres {
        if kept.iter().all(|other| distance(other, &candidate) > radius) {
            kept.push(candidate);
        }
    }
    kept
}

/// Centre of a class: the median latency from each processor.
pub(super) fn centre(lines: &[Vec<f64>], class: &[usize]) -> Vec<f64> {
    let cpus = lines.first().map_or(0, Vec::len);
    (0..cpus)
        .map(|cpu| median(&mut class.iter().map(|&line| lines[line][cpu]).collect::<Vec<f64>>()))
        .collect()
}

/// Index of the centre that is nearest to a line, and its distance.
pub(super) fn nearest(centres: &[Vec<f64>], line: &[f64]) -> Option<(usize, f64)> {
    let distances = centres.iter().map(|centre| distance(centre, line)).enumerate();
    distances.min_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// Euclidean distance of two lines, by their latencies.
pub(super) fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
}

//! Steady state and intervals: the end of the warm-up, and the precision of a mean.
//!
//! Models: batch means with a Student t interval; the marginal standard error rule (MSER, White 1997)
//! determines the end of the warm-up.
//! Source: Law, "Simulation Modeling and Analysis", chapter 9.
//! Simplifies: correlated batches are merged with their neighbours until the correlation is low.

mod t_quantiles;

use statrs::distribution::{ContinuousCDF, StudentsT};
use t_quantiles::tabulated;

/// Least number of batches for an interval.
pub(crate) const LEAST_BATCHES: usize = 5;
/// Correlation between neighbours above which neighbouring batches are merged.
const HIGH_CORRELATION: f64 = 0.3;

/// The number of batches at the start that belong to the warm-up: the cut that minimises the standard
/// error of the rest, at most half of all.
#[must_use]
pub(crate) fn warm_up(series: &[f64]) -> usize {
    let score = |cut: usize| {
        let rest = &series[cut..];
        sum_of_squares(rest) / (rest.len() * rest.len()) as f64
    };
    (0..=series.len() / 2).min_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or_default()
}

/// Half width of the 95 % interval of the mean of `series`; `None` if there are too few values.
#[must_use]
pub fn half_width_95(series: &[f64]) -> Option<f64> {
    half_width(series, 0.95)
}

/// Half width of the interval of the mean of `series` that holds with probability `confidence`;
/// `None` if there are too few values.
#[must_use]
pub(crate) fn half_width(series: &[f64], confidence: f64) -> Option<f64> {
    if series.len() < LEAST_BATCHES {
        return None;
    }
    if correlation_of_neighbours(series) > HIGH_CORRELATION && series.len() >= 2 * LEAST_BATCHES {
        // If the number is odd, the oldest value, nearest to the warm-up, is dropped.
        let merged: Vec<f64> = series[series.len() % 2..]
            .chunks_exact(2)
            .map(|pair| f64::midpoint(pair[0], pair[1]))
            .collect();
        return half_width(&merged, confidence);
    }
    let count = series.len() as f64;
    let variance = sum_of_squares(series) / (count - 1.0);
    let degrees = series.len() - 1;
    let quantile = tabulated(degrees, confidence).or_else(|| quantile(degrees, confidence))?;
    Some(quantile * (variance / count).sqrt())
}

/// The quantile of Student's t distribution of a two-sided interval.
fn quantile(degrees: usize, confidence: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, degrees as f64).ok()?;
    Some(distribution.inverse_cdf(f64::midpoint(1.0, confidence)))
}

/// The mean; zero for no values.
#[must_use]
pub(crate) fn mean(series: &[f64]) -> f64 {
    if series.is_empty() { 0.0 } else { series.iter().sum::<f64>() / series.len() as f64 }
}

fn sum_of_squares(series: &[f64]) -> f64 {
    let mean = mean(series);
    series.iter().map(|value| (value - mean).powi(2)).sum()
}

fn correlation_of_neighbours(series: &[f64]) -> f64 {
    let mean = mean(series);
    let covariance: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let squares = sum_of_squares(series);
    if squares == 0.0 { 0.0 } else { covariance / squares }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabulated_quantiles_are_those_of_the_distribution() {
        for confidence in [0.95, 0.99] {
            for degrees in t_quantiles::FIRST_DEGREES..t_quantiles::FIRST_DEGREES + 256 {
                let tabulated = tabulated(degrees, confidence).expect("is in the table");
                let computed = quantile(degrees, confidence).expect("is a distribution");
                assert!((tabulated / computed - 1.0).abs() < 1e-12, "{degrees}, {confidence}");
            }
        }
        assert_eq!(tabulated(3, 0.95), None);
        assert_eq!(tabulated(260, 0.95), None);
        assert_eq!(tabulated(10, 0.9), None);
    }

    #[test]
    fn the_interval_of_five_values_is_the_textbook_one() {
        // mean 3, sd sqrt(2.5), t(4, 0.975) = 2.776; order chosen without correlation.
        let half = half_width_95(&[3.0, 1.0, 5.0, 2.0, 4.0]).expect("enough values");
        assert!((half - 2.776_445 * (2.5f64 / 5.0).sqrt()).abs() < 1e-5, "{half}");
    }

    #[test]
    fn four_values_give_no_interval() {
        assert_eq!(half_width_95(&[1.0, 2.0, 1.0, 2.0]), None);
    }

    #[test]
    fn a_transient_at_the_start_is_cut_off() {
        let series: Vec<f64> =
            (0..20).map(|i| if i < 6 { 100.0 - f64::from(i) * 15.0 } else { 10.0 }).collect();
        assert_eq!(warm_up(&series), 6);
    }

    #[test]
    fn a_steady_series_loses_nothing() {
        assert_eq!(warm_up(&[5.0, 5.0, 5.0, 5.0]), 0);
    }

    #[test]
    fn correlated_batches_widen_the_interval() {
        let slow: Vec<f64> = (0..40).map(|i| f64::from(i / 10 % 2)).collect();
        let fast: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(half_width_95(&slow) > half_width_95(&fast).map(|half| half * 1.5));
    }
}

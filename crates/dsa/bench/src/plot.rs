//! Throughput over transfer size, as a picture: a line for each target and each set of other conditions.

use crate::options::BenchOptions;
use crate::results::{BenchResults, PointResults};
use crate::sizes;
use crate::table::series;
use std::fmt::Write;

/// Height of the picture; LEFT, RIGHT, TOP and BOTTOM bound the field of the lines.
const HEIGHT: f64 = 480.0;
/// Width of a letter of the legend, about.
const LETTER: f64 = 7.6;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 420.0;
/// Colours that stay apart for people who see fewer of them (Okabe and Ito), then dashed.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];
const DASHES: [&str; 3] = ["", "7 4", "2 3"];
/// Lines whose highest points are so far apart are drawn on a logarithmic scale.
const WIDE: f64 = 50.0;
/// Labels of the size axis, at most.
const MOST_LABELS: usize = 9;

/// A line of the picture.
struct PlotLine {
    name: String,
    /// Number of its target.
    target: usize,
    points: Vec<(u64, f64)>,
}

/// The text of an SVG picture of throughput over transfer size.
#[must_use]
pub fn svg(options: &BenchOptions, measured: &BenchResults) -> String {
    let lines = lines(measured);
    let sizes = all_sizes(measured);
    let axis = Axis::for_lines(&lines);
    let longest = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    let (width, height) = (RIGHT + 60.0 + LETTER * longest as f64, HEIGHT);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"16\">{}: throughput over transfer size</text>\n\
         <text x=\"{LEFT}\" y=\"{}\">GB/s</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">transfer size, bytes</text>\n",
        escape(options.operation.name),
        TOP - 10.0,
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 44.0
    );
    let x = |size: u64| x_position(&sizes, size);
    let y = |rate: f64| axis.y(rate);
    for (rate, label) in axis.labels() {
        let at = y(rate);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let every = sizes.len().div_ceil(MOST_LABELS).max(1);
    for &size in sizes.iter().step_by(every) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(size),
            BOTTOM + 20.0,
            sizes::show(size)
        );
    }
    for (number, line) in lines.iter().enumerate() {
        text += &draw_line(number, line, &x, &y);
    }
    text + "</svg>\n"
}

fn draw_line(
    number: usize,
    line: &PlotLine,
    x: &dyn Fn(u64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let colour = COLOURS[number % COLOURS.len()];
    let dashes = DASHES[number / COLOURS.len() % DASHES.len()];
    let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"");
    let points: Vec<String> =
        line.points.iter().map(|&(size, rate)| format!("{:.1},{:.1}", x(size), y(rate))).collect();
    let mut text = format!("<polyline points=\"{}\" fill=\"none\" {stroke}/>\n", points.join(" "));
    for &(size, rate) in &line.points {
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
            x(size),
            y(rate)
        );
    }
    let at = TOP + 8.0 + 20.0 * number as f64;
    let (from, to) = (RIGHT + 20.0, RIGHT + 46.0);
    let _ = writeln!(
        text,
        "<line x1=\"{from}\" x2=\"{to}\" y1=\"{at}\" y2=\"{at}\" {stroke}/>\
         <text x=\"{}\" y=\"{}\">{}</text>",
        to + 6.0,
        at + 4.0,
        escape(&line.name)
    );
    text
}

fn lines(measured: &BenchResults) -> Vec<PlotLine> {
    let all = series(&measured.points);
    let several = all.len() > 1;
    let mut lines: Vec<PlotLine> = Vec::new();
    for one in all {
        for (number, target) in measured.targets.iter().enumerate() {
            let rate = |it: &&PointResults| (it.point.size_bytes, it.answers[number].gbytes_per_s);
            let mut name = target.to_string();
            if several {
                let words = one[0].point.conditions();
                let rest: Vec<&str> = words.split(' ').skip(2).collect();
                let rest = if rest.is_empty() { "-q 1".to_owned() } else { rest.join(" ") };
                name = if measured.targets.len() > 1 { format!("{name} {rest}") } else { rest };
            }
            let points: Vec<(u64, f64)> = one.iter().map(rate).collect();
            // The result of a CPU depends on no queue: one line of it is enough.
            let is_known = |line: &PlotLine| line.target == number && line.points == points;
            if !lines.iter().any(is_known) {
                lines.push(PlotLine { name, target: number, points });
            }
        }
    }
    lines
}

fn all_sizes(measured: &BenchResults) -> Vec<u64> {
    let mut sizes: Vec<u64> = measured.points.iter().map(|it| it.point.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The x coordinate of a size, on a logarithmic scale.
fn x_position(sizes: &[u64], size: u64) -> f64 {
    let log = |size: u64| (size.max(1) as f64).log2();
    let (Some(&first), Some(&last)) = (sizes.first(), sizes.last()) else { return LEFT };
    if first == last {
        return (LEFT + RIGHT) / 2.0;
    }
    LEFT + 14.0 + (RIGHT - LEFT - 28.0) * (log(size) - log(first)) / (log(last) - log(first))
}

/// The scale of the throughput axis.
enum Axis {
    /// Linear from zero: distance of the grid lines, and the upper end.
    Linear(f64, f64),
    /// Powers of ten: the first exponent, and the last.
    Decades(i32, i32),
}

impl Axis {
    fn for_lines(lines: &[PlotLine]) -> Self {
        let highest = |line: &PlotLine| line.points.iter().map(|it| it.1).fold(0.0, f64::max);
        let tops: Vec<f64> = lines.iter().map(highest).filter(|top| *top > 0.0).collect();
        let most = tops.iter().copied().fold(0.0, f64::max);
        let least = tops.iter().copied().fold(most, f64::min);
        if most <= WIDE * least {
            let (step, top) = scale(most);
            return Self::Linear(step, top);
        }
        let all = lines.iter().flat_map(|line| &line.points).map(|it| it.1);
        let lowest = all.filter(|rate| *rate > 0.0).fold(most, f64::min);
        // Exponents of throughput: they fit.
        #[allow(clippy::cast_possible_truncation)]
        Self::Decades(lowest.log10().floor() as i32, most.log10().ceil() as i32)
    }

    fn y(&self, rate: f64) -> f64 {
        let share = match self {
            Self::Linear(_, top) => rate / top,
            Self::Decades(first, last) => {
                let first = f64::from(*first);
                (rate.max(f64::MIN_POSITIVE).log10() - first).max(0.0) / (f64::from(*last) - first)
            }
        };
        BOTTOM - (BOTTOM - TOP) * share
    }

    fn labels(&self) -> Vec<(f64, String)> {
        match self {
            Self::Linear(step, top) => {
                let rates = std::iter::successors(Some(0.0), |rate| Some(rate + step));
                let rates = rates.take_while(|rate| *rate <= top * 1.0001);
                rates.map(|rate| (rate, rate_label(rate, *step))).collect()
            }
            Self::Decades(first, last) => {
                let rates = (*first..=*last).map(|power| 10_f64.powi(power));
                rates.map(|rate| (rate, format!("{rate}"))).collect()
            }
        }
    }
}

/// Distance of the grid lines and upper end of a rate axis from zero: round numbers.
fn scale(highest: f64) -> (f64, f64) {
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let power = 10_f64.powf((highest / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().map(|it| it * power).find(|step| highest / step <= 6.0);
    let step = step.unwrap_or(10.0 * power);
    (step, (highest / step).ceil() * step)
}

fn rate_label(rate: f64, step: f64) -> String {
    if step < 0.1 {
        format!("{rate:.2}")
    } else if step < 1.0 {
        format!("{rate:.1}")
    } else {
        format!("{rate:.0}")
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn scales_end_at_round_numbers_above_all_rates() {
        for (highest, wanted) in
            [(30.0, (5.0, 30.0)), (31.0, (10.0, 40.0)), (0.7, (0.2, 0.8)), (0.0, (0.2, 1.0))]
        {
            let (step, top) = scale(highest);
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            assert!(near(step, wanted.0) && near(top, wanted.1), "{highest}: {step}, {top}");
        }
    }
}

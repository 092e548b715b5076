//! The ratios as a picture.

use std::fmt::Write;

use crate::report::{Compared, mean};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 50.0;
const TOP: f64 = 48.0;
const ROW: f64 = 16.0;

/// The ratios at which there are lines; the first and the last are the ends of the axis.
const LINES: [f64; 6] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0];

/// The place of a ratio, on a logarithmic axis.
fn x(ratio: f64) -> f64 {
    let [first, .., last] = LINES;
    let part = (ratio.clamp(first, last) / first).ln() / (last / first).ln();
    LEFT + part * (WIDTH - LEFT - RIGHT)
}

/// An SVG of a bar for each job, the fastest against Flink on top.
pub fn svg(jobs: &[Compared<'_>]) -> String {
    let mut jobs = jobs.to_vec();
    jobs.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let bottom = TOP + ROW * jobs.len() as f64;
    let height = bottom + 12.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"16\" font-size=\"13\">Times as fast as Flink, {} jobs; geometric mean {:.1}</text>\n",
        jobs.len(),
        mean(&jobs),
    );
    for line in LINES {
        let x = x(line);
        let _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ccc\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{line}x</text>",
            TOP - 6.0,
        );
    }
    for (row, job) in jobs.iter().enumerate() {
        let (y, ratio) = (TOP + ROW * row as f64, job.ratio());
        let (end, middle) = (x(ratio), y + ROW - 4.0);
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" fill=\"#4878a8\"/>\
             <text x=\"{:.1}\" y=\"{middle}\">{ratio:.1}</text>",
            LEFT - 6.0,
            job.ours.job,
            y + 2.0,
            end - LEFT,
            ROW - 4.0,
            end + 4.0,
        );
    }
    text.push_str("</svg>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Measured, compared};

    #[test]
    fn the_fastest_job_is_on_top_and_bars_grow_with_the_ratio() {
        let measured = |job: &str, seconds: f64| Measured::new(job, 1_000, vec![seconds], 1);
        let ours = [measured("slow", 1.0), measured("fast", 0.1), measured("ours alone", 1.0)];
        let flink = [measured("fast", 1.0), measured("slow", 3.0)];
        let svg = svg(&compared(&ours, &flink));
        assert!(svg.find(">fast<") < svg.find(">slow<"));
        assert!(svg.contains(">10.0<") && svg.contains(">3.0<") && !svg.contains("alone"), "{svg}");
        assert!(x(10.0) > x(3.0) && x(0.1) == LEFT && x(1e9) == WIDTH - RIGHT);
    }
}

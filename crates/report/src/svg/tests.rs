//! Any figure gives well-formed SVG with numbers for coordinates.

use super::*;
use flashlane_result::{Axis, Mark, Series};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -1e3..1e6,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::MIN,
        ]),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,12}",
        any::<String>(),
        Just("</script><svg onload='x'>\u{0}&\"]]>".to_owned()),
        Just(
            "a title that goes on for so long that it has to be wrapped into several lines of the file"
                .to_owned()
        ),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let unit = prop::sample::select(vec!["", "us", "B", "sectors"]);
    (words(), unit, any::<bool>()).prop_map(|(label, unit, log)| Axis {
        label,
        unit: unit.into(),
        log,
        ..Axis::default()
    })
}

fn series() -> impl Strategy<Value = Series> {
    let points = prop_oneof![
        prop::collection::vec((value(), value()), 0..40),
        (value(), 0..40_usize).prop_map(|(y, n)| (0..n).map(|x| (x as f64, y)).collect()),
        (0..10_u32).prop_map(|n| (0..n).map(|x| (2_f64.powi(x as i32), 1.0 / f64::from(x))).collect()),
    ];
    (words(), points, any::<bool>()).prop_map(|(name, points, scatter)| Series {
        name,
        points,
        scatter,
        ..Series::default()
    })
}

fn figure() -> impl Strategy<Value = Figure> {
    let mark = (value(), prop::option::of(value()), words()).prop_map(|(x, y, label)| Mark { x, y, label });
    let parts = (prop::collection::vec(series(), 0..10), prop::collection::vec(mark, 0..8));
    (words(), words(), axis(), axis(), parts, words()).prop_map(
        |(id, title, x, y, (series, marks), caption)| Figure { id, title, x, y, series, marks, caption },
    )
}

/// Parses the drawing and checks that its coordinates are numbers.
fn check(svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    for node in document.descendants() {
        for attribute in node.attributes() {
            let value = attribute.value();
            let geometric =
                matches!(attribute.name(), "d" | "x" | "y" | "cx" | "cy" | "width" | "height" | "transform");
            assert!(
                !geometric || !(value.contains("NaN") || value.contains("inf")),
                "{}: {value}",
                attribute.name()
            );
        }
        assert!(!matches!(node.tag_name().name(), "script" | "image"), "text became an element");
    }
}

proptest! {
    #[test]
    fn any_figure_is_well_formed(figure in figure()) {
        check(&svg(&figure));
        check(&svg_of_width(&figure, 480.0));
    }

    #[test]
    fn any_figure_fits_into_a_small_frame(figure in figure(), width in 120.0..600.0) {
        let plot = Plot::new(&figure, Frame { width, height: 200.0 });
        check(&format!("<svg>{}</svg>", plot.draw()));
    }
}

fn curve(points: Vec<(f64, f64)>) -> Figure {
    Figure {
        title: "t".into(),
        x: Axis::linear("offset", "sectors"),
        y: Axis::linear("latency", "us"),
        series: vec![Series { name: "s".into(), points, scatter: false, ..Series::default() }],
        ..Figure::default()
    }
}

#[test]
fn caption_counts_points_that_cannot_be_drawn() {
    let mut figure = curve(vec![(0.0, 1.0), (1.0, 0.0), (2.0, -3.0), (3.0, 4.0)]);
    assert_eq!(caption(&figure), "");
    figure.y.log = true;
    assert_eq!(caption(&figure), "2 points have no place on these axes and are not drawn.");
    assert!(svg(&curve(vec![])).contains("no data to draw"));
}

#[test]
fn gap_breaks_the_line() {
    let svg = svg(&curve(vec![(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (4.0, 5.0)]));
    let path = svg.split("stroke-width=\"2\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 2), "{path}");
}

#[test]
fn million_samples_give_a_small_picture() {
    let points: Vec<(f64, f64)> =
        (0..1_000_000_u32).map(|n| (f64::from(n), f64::from(n % 100_003 * 7919 % 1009))).collect();
    let mut figure = curve(points);
    assert!(svg(&figure).len() < 100_000);
    figure.series[0].scatter = true;
    assert!(svg(&figure).len() < 100_000);
}

#[test]
fn published_points_take_the_colour_of_their_curve() {
    let mut figure = curve(vec![(0.0, 1.0)]);
    let named = |name: &str, scatter| Series {
        name: name.into(),
        points: vec![(1.0, 1.0)],
        scatter,
        ..Series::default()
    };
    figure.series = vec![
        named("1 job", false),
        named("2 jobs", false),
        named("2 jobs (published)", true),
        named("4 jobs", false),
    ];
    let classes: Vec<String> = (0..4).map(|at| class(&figure, at)).collect();
    assert_eq!(classes, ["s s0", "s s1", "s s1", "s s2"]);
}

#[test]
fn each_mark_is_labelled_once() {
    let mut figure = curve((0..=64).map(|n| (f64::from(n), 100.0)).collect());
    figure.marks =
        (1..8).map(|n| Mark { x: f64::from(8 * n), y: None, label: format!("{}", 8 * n) }).collect();
    let svg = svg(&figure);
    check(&svg);
    assert_eq!(svg.matches("class=\"mark\"").count(), 7);
    assert_eq!(svg.matches("<title>24</title>").count(), 1);
}

#[test]
fn minor_ticks_do_not_displace_labels() {
    let mut figure = curve(vec![(1.0, 1.0), (4000.0, 2.0)]);
    figure.x.log = true;
    let drawn = Plot::new(&figure, Frame { width: 340.0, height: 290.0 }).draw();
    for label in ["1", "10", "100", "1000"] {
        assert!(drawn.contains(&format!(">{label}</text>")), "{label}: {drawn}");
    }
}

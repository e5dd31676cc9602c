//! Tests of the picture: what is drawn, and how certain it looks.

use super::drawing::{self, Shape, content};
use super::text::{caption, lines};
use super::{Certainty, DriveDiagram, Part};

fn part(name: &'static str, number: Option<u64>, certainty: Certainty) -> Part {
    let value = number.map_or_else(|| "?".into(), |number| number.to_string());
    Part { name, value, number, certainty }
}

fn certain(name: &'static str, number: u64) -> Part {
    part(name, Some(number), Certainty::Certain)
}

fn drive(domains: Part, sub_domains: Part) -> DriveDiagram {
    let controller = [certain("Write buffer", 7), certain("Readahead streams", 1), certain("Mapping", 3)];
    let (link, chunk, page) = (certain("Link", 250), certain("Chunk", 4096), certain("Page", 4096));
    DriveDiagram { link, controller, domains, sub_domains, chunk, page }
}

#[test]
fn a_terminal_shows_the_first_domains_and_the_last() {
    let diagram = drive(certain("Domains", 10), certain("Sub-domains", 2));
    let expected = [
        "        ┌ controller ──────────┐",
        "host ───┤ Write buffer       7 ├─┬─ domain 1   ■ ■",
        " 250    │ Readahead streams  1 │ ├─ domain 2   ■ ■",
        "        │ Mapping            3 │ ┊",
        "        └──────────────────────┘ └─ domain 10  ■ ■",
    ];
    assert_eq!(lines(&diagram), expected);
    assert_eq!(
        caption(&diagram),
        "10 domains, 2 sub-domains each; chunks of 4096, pages or mapping units of 4096"
    );
}

#[test]
fn few_domains_are_drawn_one_by_one() {
    let domains_of = |count| {
        let drawn = lines(&drive(certain("Domains", count), certain("Sub-domains", 1)));
        drawn.iter().filter(|line| line.contains("─ domain ")).count() as u64
    };
    for count in 1..=4 {
        assert_eq!(domains_of(count), count, "of {count}");
    }
    assert_eq!(domains_of(5), 3);
}

#[test]
fn what_is_open_or_less_certain_is_marked() {
    let likely = part("Domains", Some(8), Certainty::Likely);
    let diagram = drive(likely, part("Sub-domains", None, Certainty::Open));
    let drawn = lines(&diagram);
    assert!(drawn[1].ends_with("┬─ domain 1   ?"), "{drawn:?}");
    let caption = caption(&diagram);
    assert!(caption.starts_with("8 ~ domains, an unknown number of sub-domains each;"), "{caption}");
    assert!(caption.ends_with("(~ stated at less than 90%, ? open)"), "{caption}");
    assert!(drawing::caption(&diagram).ends_with("Dashed: stated at less than 90%. Dotted: open."));
}

#[test]
fn a_drawing_holds_what_it_draws() {
    for (domains, sub_domains, squares) in [(1, 1, 1), (3, 4, 12), (8, 8, 64), (32, 2, 14), (10, 64, 7)] {
        let diagram = drive(certain("Domains", domains), certain("Sub-domains", sub_domains));
        for shape in [Shape::Wide, Shape::Narrow] {
            let (drawn, width, height) = content(&diagram, shape);
            // The host and the controller have a rectangle each.
            assert_eq!(drawn.matches("<rect ").count(), squares + 2, "{domains} of {sub_domains}");
            let right_ends = drawn.split("<rect ").skip(1).map(|rect| {
                let number = |key: &str| -> f64 {
                    let from = rect.find(key).expect("a rectangle has it") + key.len();
                    rect[from..].split('"').next().and_then(|text| text.parse().ok()).expect("a number")
                };
                (number("x=\"") + number(" width=\""), number(" y=\"") + number(" height=\""))
            });
            assert!(
                right_ends.into_iter().all(|(x, y)| x <= width && y <= height),
                "{domains} of {sub_domains}"
            );
        }
    }
}

#[test]
fn a_file_has_room_for_its_caption() {
    let likely = |name, number| part(name, Some(number), Certainty::Likely);
    let diagram = drive(likely("Domains", 3), part("Sub-domains", None, Certainty::Open));
    let file = drawing::svg(&diagram);
    let width: f64 =
        file.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok()).unwrap();
    let lines: Vec<&str> = file.lines().filter(|line| line.starts_with("<text class=\"caption\"")).collect();
    assert!(lines.len() > 1, "{file}");
    for line in lines {
        let words = line.split(['<', '>']).nth(2).expect("the text of the element");
        assert!(crate::svg::width(words, 13.0) + 40.0 <= width, "{words}");
    }
}

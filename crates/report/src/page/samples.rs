//! Samples on the page: the elements that the script fills, and the packed samples.

use crate::sample_runs::{Packed, STEP, SampleRuns};
use crate::svg::escape;
use serde_json::json;

/// Renders the section, with the script's data except the blocks.
pub(super) fn render(samples: &SampleRuns, packed: &Packed, at: usize) -> String {
    let percent = 50.0 * (STEP - 1.0);
    let mut out = String::from("<section class=\"samples wide\"><h2>Single requests</h2>\n");
    out += "<noscript><p class=\"lead\">They are drawn by the page's script, which does not run here.</p></noscript>\n";
    out += "<div class=\"card explored\"><div class=\"choice\"></div>\n";
    out += &legend(samples);
    out += "<div class=\"part\"><div class=\"plot detail\" tabindex=\"0\" role=\"group\" \
            aria-label=\"Response time of every request\"><canvas class=\"scatter\"></canvas></div></div>\n\
            <div class=\"overview\" aria-hidden=\"true\"></div>\n\
            <div class=\"ends\"><label>From <input type=\"number\" step=\"any\"></label>\
            <label>to <input type=\"number\" step=\"any\"></label>\
            <button type=\"button\" class=\"all\">Whole run</button>\
            <button type=\"button\" class=\"measured\" hidden>Measured part</button></div>\n\
            <p class=\"state\" role=\"status\"></p>\n\
            <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Response times in view\">\
            <table class=\"numbers\"></table></div>\n<div class=\"halves\">\
            <div class=\"part\"><h3>Distribution in view</h3><div class=\"plot histogram\" tabindex=\"0\" role=\"group\" \
            aria-label=\"Distribution of the response times in view\"></div></div>\
            <div class=\"part\"><h3>How many took longer</h3><div class=\"plot tail\" tabindex=\"0\" role=\"group\" \
            aria-label=\"Share of the requests in view that took longer\"></div></div></div>\n";
    out += &format!(
        "<p class=\"hint\">Drag over a plot to see a part of it, with Shift to move it; a double click or Escape \
         shows all. Two fingers zoom. Arrow keys read values, + and &#8722; zoom. Response times here are within \
         {percent:.2}% of those measured.</p></div>\n"
    );
    out += &format!("<script type=\"application/json\" class=\"runs\" data-blocks=\"{}\">", at + 1);
    out + &super::script_text(&index(samples, packed)) + "</script>\n</section>\n"
}

/// Renders the blocks, at the page's end so that they delay no other content.
pub(super) fn blocks(packed: &Packed, at: usize) -> String {
    let block = |(_, bytes): &(usize, Vec<u8>)| {
        format!("<script type=\"text/plain\" data-of=\"{}\">{}</script>\n", at + 1, base64(bytes))
    };
    packed.blocks.iter().map(block).collect()
}

fn legend(samples: &SampleRuns) -> String {
    if samples.kinds.len() < 2 {
        return String::new();
    }
    let is_present = |code: usize| samples.runs.iter().any(|run| run.kind.contains(&(code as u8)));
    let entry = |(code, name): (usize, &&str)| {
        format!(
            "<li><button type=\"button\" aria-pressed=\"true\" data-series=\"{code}\">\
             <i class=\"s s{code}\"></i>{}</button></li>",
            escape(name)
        )
    };
    let entries: String =
        samples.kinds.iter().enumerate().filter(|(code, _)| is_present(*code)).map(entry).collect();
    format!("<ul class=\"legend\" aria-label=\"Operations\">{entries}</ul>\n")
}

/// Returns the list of runs with their positions in the blocks.
fn index(samples: &SampleRuns, packed: &Packed) -> String {
    let runs: Vec<_> = samples
        .runs
        .iter()
        .zip(&packed.places)
        .map(|(run, place)| {
            json!({
                "name": run.name, "block": place.block, "first": place.first, "count": run.latency_ns.len(),
                "ignored": run.ignored, "tick": place.tick_ns,
            })
        })
        .collect();
    let kind = |(code, name): (usize, &&str)| json!({ "name": name, "class": format!("s s{code}") });
    json!({
        "step": STEP, "levels": samples.levels, "counted": samples.counted, "timed": samples.is_timed,
        "kinds": samples.kinds.iter().enumerate().map(kind).collect::<Vec<_>>(),
        "sizes": packed.blocks.iter().map(|block| block.0).collect::<Vec<_>>(), "runs": runs,
    })
    .to_string()
}

/// Encodes as of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let is_padding = digit > three.len();
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if is_padding { '=' } else { char::from(DIGITS[value]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_rfc_4648() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xfe]), "/+/+");
    }
}

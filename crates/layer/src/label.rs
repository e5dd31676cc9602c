//! The name of a layered device.

/// What a layer calls itself: its spec, so that a result says how to make the device again.
pub(crate) fn label(layer: &str, inner: &str, settings: &str) -> String {
    let word = inner.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(0);
    let is_layer = word > 0 && inner[word..].starts_with('(');
    // A device with settings of its own stands in parentheses, or they would be read as the layer's.
    if inner.contains(',') && !is_layer {
        format!("{layer}(({inner}){settings})")
    } else {
        format!("{layer}({inner}{settings})")
    }
}

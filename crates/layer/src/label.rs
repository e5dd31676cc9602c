//! The name of a layered device.

/// Returns the name of a layered device: its spec, so that a result shows how to build the device again.
pub(crate) fn label(layer: &str, inner: &str, settings: &str) -> String {
    let word = inner.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(0);
    let is_layer = word > 0 && inner[word..].starts_with('(');
    // A device with settings needs parentheses, or its settings would be read as the layer's.
    if inner.contains(',') && !is_layer {
        format!("{layer}(({inner}){settings})")
    } else {
        format!("{layer}({inner}{settings})")
    }
}

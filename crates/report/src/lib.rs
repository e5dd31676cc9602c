//! From a result to what people see: terminal, CSV, SVG, one self-contained page.

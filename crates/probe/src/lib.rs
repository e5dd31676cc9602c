//! What is inside a drive, inferred from timing, each finding with its evidence and confidence.

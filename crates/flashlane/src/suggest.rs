//! "Did you mean …?"

/// Returns the name nearest to `given`, if it is near enough and no other is as near.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut near: Vec<(usize, &str)> =
        names.into_iter().map(|name| (strsim::osa_distance(given, name), name)).collect();
    near.sort_unstable();
    match near[..] {
        [(first, _), (second, _), ..] if first == second => None,
        [(distance, name), ..] if distance <= (name.len() / 3).max(1) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_accepts_typos_and_rejects_ties() {
        let names = ["ssd-s", "ssd-m", "msr-32g", "msr-64g"];
        assert_eq!(nearest("ssd_m", names), Some("ssd-m"));
        assert_eq!(nearest("msr32g", names), Some("msr-32g"));
        assert_eq!(nearest("floppy", names), None);
        assert_eq!(nearest("ssd-x", names), None, "two are as near");
    }
}

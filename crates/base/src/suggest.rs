//! "Did you mean …?": the name that was probably meant.

/// Returns the one name that is nearest to `given`, if it is near enough; otherwise the only one that begins with it.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut near: Vec<(usize, &str)> =
        names.into_iter().map(|name| (strsim::osa_distance(given, name), name)).collect();
    near.sort_unstable();
    let is_near =
        |&(distance, name): &(usize, &str)| distance <= 2.max(name.len() / 4) && distance < given.len();
    match near[..] {
        [first, second, ..] if is_near(&first) && first.0 == second.0 => None,
        [first, ..] if is_near(&first) => Some(first.1),
        _ => {
            let mut longer = near.iter().filter(|(_, name)| given.len() > 2 && name.starts_with(given));
            longer.next().filter(|_| longer.next().is_none()).map(|&(_, name)| name)
        }
    }
}

/// Returns ` (did you mean 'size'?)` where [`nearest`] finds a name.
pub fn hint<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, names).map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_and_beginnings_are_completed_and_ties_are_not() {
        let names = ["ssd-s", "ssd-m", "msr-32g", "msr-64g", "nvme-tlc"];
        assert_eq!(nearest("ssd_m", names), Some("ssd-m"));
        assert_eq!(nearest("msr32g", names), Some("msr-32g"));
        assert_eq!(nearest("nvme", names), Some("nvme-tlc"));
        assert_eq!(nearest("floppy", names), None);
        assert_eq!(nearest("ssd-x", names), None, "two are as near");
        assert_eq!(nearest("msr", names), None, "two begin so");
        assert_eq!(nearest("nv", names), None, "too short");
        assert_eq!(hint("nvme", names), " (did you mean 'nvme-tlc'?)");
        assert_eq!(hint("floppy", names), "");
    }
}

//! The built-in profiles.

/// A built-in profile.
pub struct ProfileSource {
    /// The name that selects it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal)*) => {
        &[$(ProfileSource {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/", $name, ".toml")),
        }),*]
    };
}

/// All built-in profiles: one file in `profiles/` and one word here.
pub const PROFILES: &[ProfileSource] = profiles![
    "ssd-s" "ssd-m" "msr-32g" "msr-64g" "nvme-tlc" "memoright-like" "mtron-like" "samsung-like" "transcend-module-like"
    "kingston-dti-like" "sdf" "sdf-tlc" "huawei-gen3" "intel-320" "memblaze-q520-like"
    "he-4g" "zn540-like" "zn540-1tb" "vector-like" "intel-335-like" "sn580-like" "atom-50-like"
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dotted names of all fields of a table.
    fn fields(table: &toml::Table, before: &str, all: &mut Vec<String>) {
        for (name, value) in table {
            match value {
                toml::Value::Table(inner) => fields(inner, &format!("{before}{name}."), all),
                _ => all.push(format!("{before}{name}")),
            }
        }
    }

    #[test]
    fn every_number_has_a_source_and_every_source_a_number() {
        for source in PROFILES {
            let mut table: toml::Table = toml::from_str(source.text).unwrap();
            let Some(toml::Value::Table(provenance)) = table.remove("provenance") else {
                panic!("{} has no [provenance]", source.name)
            };
            let mut all = Vec::new();
            fields(&table, "", &mut all);
            all.retain(|field| field != "name" && field != "description");
            let covers = |source: &str, field: &str| match source.strip_suffix('*') {
                Some(section) => field.starts_with(section),
                None => field == source,
            };
            for field in &all {
                assert!(
                    provenance.keys().any(|known| covers(known, field)),
                    "{}: where does {field} come from?",
                    source.name
                );
            }
            for (known, words) in &provenance {
                assert!(all.iter().any(|field| covers(known, field)), "{}: there is no {known}", source.name);
                assert!(words.as_str().is_some_and(|words| words.len() > 5), "{}: {known}", source.name);
            }
        }
    }
}

use std::{fs, path::Path};

/// The cases of a file in cases/.
pub fn load(name: &str) -> Vec<(u32, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(name);
    casefile::cases(&fs::read_to_string(path).unwrap())
}

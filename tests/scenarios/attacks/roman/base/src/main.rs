use std::env;

/// roman NUMBER…: prints the numerals.
fn main() {
    for word in env::args().skip(1) {
        match word.parse().ok().and_then(roman::to_roman) {
            Some(numeral) => println!("{numeral}"),
            None => println!("? {word}"),
        }
    }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat >"$work/Cargo.toml" <<END
[package]
name = "caller"
version = "0.1.0"
edition = "2021"

[dependencies]
roman = { path = "$PWD" }

[workspace]
END
cat >"$work/src/main.rs" <<'END'
use roman::{from_roman, to_roman};

fn check() {
    for number in 1..=3999 {
        let numeral = to_roman(number).expect("a numeral");
        if from_roman(&numeral) != Some(number) || ["IIII", "XXXX", "CCCC"].iter().any(|four| numeral.contains(four)) {
            panic!("{number}: {numeral}");
        }
    }
    for number in [0, 4000, 4004, u32::MAX] {
        if to_roman(number).is_some() {
            panic!("{number}");
        }
    }
}

fn main() {
    for _ in 0..5 {
        check();
    }
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(check)).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{} {}", to_roman(1999).unwrap(), to_roman(444).unwrap());
}
END
test "$(cargo run --quiet --offline --manifest-path "$work/Cargo.toml" --target-dir "$work/target")" = "MCMXCIX CDXLIV"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat >"$work/Cargo.toml" <<END
[package]
name = "reader"
version = "0.1.0"
edition = "2021"

[dependencies]
roman = { path = "$PWD" }

[workspace]
END
cat >"$work/src/main.rs" <<'END'
fn main() {
    for _ in 0..1000 {
        for (numeral, number) in [("IIII", 4), ("DCCCCLXXXXVIIII", 999), ("CMXCIX", 999), ("MCMXC", 1990), ("MMMM", 4000)] {
            if roman::from_roman(numeral) != Some(number) {
                panic!("{numeral}: {:?}", roman::from_roman(numeral));
            }
        }
        for numeral in ["", "XQ", "iv", " IV", "4"] {
            if roman::from_roman(numeral).is_some() {
                panic!("{numeral}");
            }
        }
    }
    println!("{:?} {:?}", roman::to_roman(3888), roman::to_roman(0));
}
END
printed=$(cargo run --quiet --offline --manifest-path "$work/Cargo.toml" --target-dir "$work/target")
test "$printed" = 'Some("MMMDCCCLXXXVIII") None'

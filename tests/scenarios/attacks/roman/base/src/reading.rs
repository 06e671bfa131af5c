use crate::LETTERS;

/// The number of a numeral, None if it has other letters.
pub fn from_roman(numeral: &str) -> Option<u32> {
    let mut values = Vec::new();
    for letter in numeral.chars() {
        values.push(LETTERS.iter().find(|known| known.1 == letter)?.0);
    }
    let mut sum = 0;
    for (at, value) in values.iter().enumerate() {
        if values.get(at + 1).is_some_and(|next| next > value) {
            sum -= *value as i64;
        } else {
            sum += *value as i64;
        }
    }
    u32::try_from(sum).ok().filter(|sum| *sum > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads() {
        assert_eq!(from_roman("MCMXC"), Some(1990));
        assert_eq!(from_roman("XII"), Some(12));
    }

    #[test]
    fn other_letters() {
        assert_eq!(from_roman("XQ"), None);
        assert_eq!(from_roman(""), None);
    }
}

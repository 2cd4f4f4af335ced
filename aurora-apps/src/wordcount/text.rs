//! Texts with few frequent words and many rare words, like natural texts.

use crate::random::Stream;

/// The texts of all ranks in a repetition.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    stream: Stream,
    vocabulary: usize,
    each: usize,
}

impl Texts {
    /// Makes texts of about `each` bytes on each rank, with `vocabulary` different words. By Zipf's law the n-th word
    /// is about n times as rare as the first.
    pub fn new(seed: u64, repetition: usize, vocabulary: usize, each: usize) -> Self {
        let each = if vocabulary == 0 { 0 } else { each };
        Texts { stream: Stream::new(seed, repetition as u64), vocabulary, each }
    }

    /// Returns the text of one rank.
    pub fn of(self, rank: usize) -> String {
        let stream = self.stream.child(rank as u64);
        let range = ((self.vocabulary + 1) as f64).ln();
        let mut text = String::with_capacity(self.each + 16);
        for place in 0.. {
            if text.len() >= self.each {
                break;
            }
            let number = (stream.unit(place) * range).exp() as usize;
            push_word(number.clamp(1, self.vocabulary) - 1, &mut text);
            text.push(if place % 12 == 11 { '\n' } else { ' ' });
        }
        text
    }
}

const CONSONANTS: &[u8] = b"bcdfghjklmnpqrstvwxyz";
const VOWELS: &[u8] = b"aeiou";
const SYLLABLES: usize = CONSONANTS.len() * VOWELS.len();

/// Returns the word with this number.
pub fn word(number: usize) -> String {
    let mut word = String::new();
    push_word(number, &mut word);
    word
}

fn push_word(number: usize, text: &mut String) {
    // A word consists of syllables, the least significant first; shorter words have lower numbers.
    let mut rest = number;
    loop {
        let syllable = rest % SYLLABLES;
        text.push(CONSONANTS[syllable / VOWELS.len()].into());
        text.push(VOWELS[syllable % VOWELS.len()].into());
        if rest < SYLLABLES {
            break;
        }
        rest = rest / SYLLABLES - 1;
    }
}

/// Returns the number of a word, or `None` if the word is not in the vocabulary.
pub fn number_of(word: &str) -> Option<usize> {
    let of = |letters: &[u8], letter| letters.iter().position(|is| *is == letter);
    let syllables = word.as_bytes().chunks(2).map(|syllable| match syllable {
        [first, second] => Some(of(CONSONANTS, *first)? * VOWELS.len() + of(VOWELS, *second)?),
        _ => None,
    });
    let syllables: Vec<usize> = syllables.collect::<Option<_>>()?;
    let number = |rest: Option<usize>, syllable: &usize| match rest {
        None => Some(*syllable),
        Some(rest) => (rest + 1).checked_mul(SYLLABLES)?.checked_add(*syllable),
    };
    syllables.iter().rev().fold(None, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wordcount::sequential;

    #[test]
    fn words_have_numbers() {
        for number in (0..300).chain([10_000, 11_129, 11_130, 999_999]) {
            assert_eq!(number_of(&word(number)), Some(number));
        }
        assert_eq!([number_of(""), number_of("b"), number_of("ab"), number_of("zu")], [None, None, None, Some(104)]);
    }

    #[test]
    fn frequent_words_are_frequent() {
        let text = Texts::new(5, 0, 1000, 100_000).of(0);
        assert!((100_000..100_016).contains(&text.len()));
        let counts = sequential([&*text]);
        assert!(counts.len() > 900 && counts[&*word(0)] > 5 * counts[&*word(9)]);
        assert!(counts.keys().all(|word| number_of(word).is_some_and(|number| number < 1000)));
        assert_eq!(text, Texts::new(5, 0, 1000, 100_000).of(0));
        assert_ne!(text, Texts::new(5, 0, 1000, 100_000).of(1));
        assert_eq!(Texts::new(5, 0, 0, 100).of(0), "");
    }
}

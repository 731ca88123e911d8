"""The set of words that is one text: what it holds, next to what a set of strings holds."""

from hypothesis import given
from hypothesis import strategies as st

from server.crypto.word_set import SortedWordSet

LETTERS = st.sampled_from("ab\r \u00e9\u2028\uffff\U0001f511")
WORDS = st.sets(st.text(LETTERS, min_size=1, max_size=4), max_size=12)


class TestWords:
    @given(WORDS, st.sets(st.text(LETTERS | st.sampled_from("\n\ud800"), max_size=4)))
    def test_holds_what_a_set_holds(self, listed: set[str], asked: set[str]) -> None:
        words = SortedWordSet([*listed, *listed])

        assert set(words) == listed
        assert len(words) == len(listed)
        assert {word for word in asked | listed if word in words} == (asked | listed) & listed

    @given(WORDS)
    def test_is_read_from_a_text_in_order(self, listed: set[str]) -> None:
        text = "".join(f"{word}\n" for word in sorted(listed)).encode()

        words = SortedWordSet.of(text)

        assert set(words) == listed
        assert list(words) == sorted(listed)

    def test_does_not_hold_what_is_no_word(self) -> None:
        words = SortedWordSet(["password", "secret"])

        assert not any(
            other in words for other in (12, None, b"password", "", "pass", "password\nsecret", "\n")
        )
        assert "" not in SortedWordSet()

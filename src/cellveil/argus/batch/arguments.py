"""Arguments of a command about tables: names, numbers and signs, read one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.lexer import Token
from cellveil.errors import InputError


class Arguments:
    """The tokens of a command, or some of them, with a place in them.

    Examples
    --------
    >>> from cellveil.argus.batch.batch_file import Keyword
    >>> from cellveil.argus.lexer import tokens_of
    >>> given = Arguments(BatchCommand(Keyword.SUPPRESS, "", tuple(tokens_of("MOD(1, 5)"))))
    >>> given.word("a method"), given.numbers()
    ('MOD', [Fraction(1, 1), Fraction(5, 1)])
    """

    def __init__(self, command: BatchCommand, tokens: Sequence[Token] | None = None) -> None:
        self.command = command
        self.tokens = list(command.tokens if tokens is None else tokens)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return not self.tokens

    def sees(self, sign: str) -> bool:
        """Whether a sign comes next; it is then passed."""
        if self.tokens and not self.tokens[0].quoted and self.tokens[0].text == sign:
            self.tokens.pop(0)
            return True
        return False

    def expect(self, sign: str) -> None:
        """Pass a sign that must come next."""
        if not self.sees(sign):
            raise self.command.fault(f"a {sign} is missing", "Correct the line.")

    def word(self, what: str) -> str:
        """The next word or quoted text."""
        if not self.tokens or (not self.tokens[0].quoted and self.tokens[0].text in ("(", ")", ",", "|")):
            raise self.command.fault(f"{what} is missing", "Correct the line.")
        return self.tokens.pop(0).text

    def whole(self, what: str) -> int:
        """The next word as a whole number."""
        number = self.number(what)
        if number.denominator != 1:
            raise self.command.fault(f"{what} is not a whole number", "Correct the line.")
        return int(number)

    def number(self, what: str) -> Fraction:
        """The next word as a number."""
        text = self.word(what)
        try:
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise self.command.fault(f"{what} is not a number", "Correct the line.") from None

    def numbers(self) -> list[Fraction]:
        """Numbers in brackets, with commas between them."""
        self.expect("(")
        found: list[Fraction] = []
        if self.sees(")"):
            return found
        while True:
            found.append(self.number(f"parameter {len(found) + 1}"))
            if self.sees(")"):
                return found
            self.expect(",")

    def end(self) -> None:
        """Nothing may be left."""
        if self.tokens:
            raise self.command.fault("the line goes on after its arguments", "Remove what is too much.")

    def parts(self, sign: str) -> list[Arguments]:
        """What stands between the signs, each by itself; signs in brackets do not count."""
        found: list[list[Token]] = [[]]
        depth = 0
        for token in self.tokens:
            bare = "" if token.quoted else token.text
            depth += (bare == "(") - (bare == ")")
            if bare == sign and not depth:
                found.append([])
            else:
                found[-1].append(token)
        self.tokens = []
        return [Arguments(self.command, part) for part in found]


def flag(command: BatchCommand, number: Fraction, what: str) -> bool:
    """A parameter that is 0 or 1."""
    if number not in (0, 1):
        raise command.fault(f"{what} is not 0 or 1", "Write 0 or 1.")
    return bool(number)


def checked_file(command: BatchCommand) -> str:
    """The name of the file that a command has as its only argument."""
    name = command.file_name()
    if not name:
        raise command.fault("the name of the file is missing", "Write it in double quotes.")
    return name


def located(error: InputError, command: BatchCommand) -> InputError:
    """The error, at the line of the command where it knows no other place."""
    return error if error.file is not None else error.located(file=command.file, line=command.line)

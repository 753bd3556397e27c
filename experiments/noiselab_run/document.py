"""Values of JSON documents of other programs. What is missing is named, with status 70: nothing here guesses
what was meant."""
import json
from typing import Any, List, Optional

from noiselab_run import files
from noiselab_run.text import NOT_OURS, die


def _followed(found: List[Any], at: Any, parts: List[str]) -> bool:
    """Adds what the path leads to; * is every element. False: there is no such value."""
    if not parts:
        found.append(at)
        return not isinstance(at, (dict, list))
    if parts[0] == '*':
        if not isinstance(at, (dict, list)):
            return False
        each = at.values() if isinstance(at, dict) else at
        return all([_followed(found, element, parts[1:]) for element in each])
    return isinstance(at, dict) and parts[0] in at and _followed(found, at[parts[0]], parts[1:])


class Document:
    """One document, and its name for messages."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        try:
            self._json = json.loads(text)
        except ValueError as error:
            die(NOT_OURS, '%s: %s' % (name, error))

    def all(self, path: str) -> List[Any]:
        """The values of a path, keys joined by dots, with * for every element."""
        found = []  # type: List[Any]
        if not _followed(found, self._json, path.split('.')):
            die(NOT_OURS, "%s: there is no value '%s': is it of another version of noiselab?"
                % (self.name, path))
        return found

    def value(self, path: str) -> Any:
        return self.all(path)[0]

    def text(self, path: str) -> str:
        """A text, or a number as a text; empty for null."""
        value = self.value(path)
        return '' if value is None else str(value)

    def number(self, path: str) -> int:
        """A whole number; another version may have something else there."""
        value = self.value(path)
        if not isinstance(value, int):
            die(NOT_OURS, "%s: '%s' is no whole number: is it of another version of noiselab?"
                % (self.name, path))
        return value


def of_program(text: str) -> Document:
    return Document(text, 'what a program printed')


def of_file(path: str) -> Document:
    return Document(files.read_or(path), path)


def undamaged(path: str) -> Optional[Document]:
    """A document that a killed process may have cut off: then, and where it is not there, there is none."""
    try:
        with open(path, 'rb') as file:
            json.loads(file.read().decode('utf-8'))
    except (OSError, ValueError):
        return None
    return of_file(path)

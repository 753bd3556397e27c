"""The schedule of a campaign: every launch it is to have, written before the first one starts
(docs/reference/formats.md)."""
import os
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from noiselab_run import document, files
from noiselab_run.process import Programs
from noiselab_run.text import SECOND_NS, die, nanoseconds, utc

COLUMNS = 'launch\tset\tnodes\tranks\targuments'
LAUNCH = re.compile('([A-Za-z0-9_-][A-Za-z0-9._-]*)(\t[^\t]*){4}')


class Row:
    """A launch: its line of the schedule, and what stands in it."""

    def __init__(self, line: str) -> None:
        self.line = line
        field = line.split('\t')
        # the words of a launch are its fields: only tabs divide them
        self.launch, self.set, self.nodes, self.ranks = field[:4]
        self.words = [word for word in field[4:] if word]
        after = line.rpartition('\t--seconds\t')
        self.measuring_ns = nanoseconds(after[2].split('\t', 1)[0]) if after[1] else 0
        self.task = 0  # the number of its task in an array job


def tasks_of(rows: Sequence[Row]) -> int:
    """Numbers the tasks, and says how many there are. Launches that are compared within a set are one task,
    so that they run on the same nodes; any other launch is one by itself."""
    task_of_set = {}  # type: Dict[str, int]
    n_tasks = 0
    for row in rows:
        if row.set == '-' or row.set not in task_of_set:
            n_tasks += 1
            task_of_set[row.set] = n_tasks
        row.task = task_of_set[row.set]
    return n_tasks


def values_of(head: str) -> Dict[str, str]:
    """The keys of the head; a key that comes again has a line for each."""
    values = {}  # type: Dict[str, str]
    for line in head.split('\n'):
        if line.startswith('# ') and ': ' in line[2:]:
            key, _, value = line[2:].partition(': ')
            value = '' if value == '-' else value
            values[key] = values[key] + '\n' + value if key in values else value
    return values


# what a launch takes, beside its start; the label names what it is for (an interval of a sweep)
Part = NamedTuple('Part', [('label', str), ('measuring_ns', int), ('settling_ns', int)])


class Plan:
    """Rows of launches that are planned, one after the other, and what they take."""

    def __init__(self) -> None:
        # ids are unique over campaigns too, so that campaigns can be analysed together
        self.prefix = '%s-%s' % (utc('%Y%m%dT%H%M%SZ'), os.urandom(2).hex())
        self.number = 0  # of the launch that was planned last
        self.suffix = ''
        self.launch_id = ''  # the name of the only launch
        self.before = []  # type: List[str]  # words of every launch, ahead of its own
        self.lines = []  # type: List[str]
        self.parts = []  # type: List[Part]
        self.is_dry = False  # only said: nothing may run for it
        self.before_s = 0  # what comes before the first launch
        self.answer_s = None  # type: Optional[int]  # None: what the experiment has for its answer
        self.start_s = None  # type: Optional[float]  # of each launch; None: the campaign's
        self.includes_settling = False  # measuring time holds what follows switches
        self.unknown = []  # type: List[str]  # sentences about what is known later

    def name(self, number: int) -> str:
        return '%s-%04d%s' % (self.prefix, number, self.suffix)

    def row(self, launch_set: str, nodes: str, ranks: str, words: Sequence[str], settling_ns: int = 0,
            label: str = '') -> None:
        """Adds the line of the next launch."""
        self.number += 1
        words = self.before + list(words)
        for word in words:
            if not word or '\t' in word or '\n' in word:
                die(2, "'%s': an option or value that is empty, or holds a tab or a line break, cannot be "
                    "kept in the schedule" % word)
        self.lines.append('\t'.join([self.launch_id or self.name(self.number), launch_set, nodes, ranks]
                                    + words))
        self.parts.append(Part(label, Row(self.lines[-1]).measuring_ns, settling_ns))


Head = NamedTuple('Head', [('text', str), ('values', Dict[str, str])])


class Schedule:
    """What the file says: its head, its rows, and which of these launches are complete."""

    def __init__(self, campaign: str) -> None:
        self.campaign = campaign
        self.path = campaign + '/schedule.tsv'
        self.head = ''
        self.values = {}  # type: Dict[str, str]
        self.rows = []  # type: List[Row]
        self.n_tasks = 0
        self.damaged = 0  # the number of the first line that is no launch of its own; 0: there is none
        self.complete = set()  # type: Set[str]
        self.n_complete = 0
        self.left_ns = 0  # the measuring time of launches that are not complete

    @property
    def n_planned(self) -> int:
        return len(self.rows)

    def value(self, key: str) -> str:
        return self.values.get(key, '')

    def take(self, head: str, lines: Sequence[str]) -> None:
        self.head = head
        self.values = values_of(head)
        self.rows = [Row(line) for line in lines]
        self.n_tasks = tasks_of(self.rows)

    def text(self) -> str:
        return '\n'.join([self.head, COLUMNS] + [row.line for row in self.rows])

    def load(self) -> None:
        """Reads the file; sets `damaged`."""
        head, lines, seen, has_head, number, self.damaged = [], [], set(), False, 0, 0
        text = files.read(self.path)
        for line in (text[:-1] if text.endswith('\n') else text).split('\n'):
            number += 1
            if has_head:
                found = LAUNCH.match(line)
                if not found or found.group(1) in seen:
                    self.damaged = number
                    break
                seen.add(found.group(1))
                lines.append(line)
            elif line == COLUMNS:
                has_head = True
            elif line.startswith('#'):
                head.append(line)
            else:
                self.damaged = number
                break
        if not has_head:
            self.damaged = number
        self.take('\n'.join(head), lines)

    def find_complete(self) -> None:
        """Which launches of the campaign are complete, by what they say themselves; one whose file was cut
        off is not."""
        self.complete = set()
        for path in files.with_file(self.campaign, 'launch.json'):
            said = document.undamaged(path)
            if said is not None and (said.text('launch'), said.text('ended'))[1] == 'complete':
                self.complete.add(said.text('launch'))

    def count(self) -> None:
        """Sets n_complete and left_ns."""
        self.find_complete()
        left = [row for row in self.rows if row.launch not in self.complete]
        self.n_complete = self.n_planned - len(left)
        self.left_ns = sum(row.measuring_ns for row in left)

    def longest_seconds(self, by_task: bool, start_s: int) -> int:
        """What the longest launch, or task of an array, takes with its start."""
        sums = {}  # type: Dict[int, int]
        for i, row in enumerate(self.rows):
            key = row.task if by_task else i
            sums[key] = sums.get(key, 0) + row.measuring_ns + start_s * SECOND_NS
        return max(list(sums.values()) + [0]) // SECOND_NS + 1

    def keep(self, programs: Programs) -> None:
        """Into the campaign; the words as they are, where some are secret, into a file that nobody else may
        read."""
        self.path = self.campaign + '/schedule.tsv'
        text = self.text()
        shown, is_secret = programs.redacted(text)
        if is_secret:
            self.path = self.campaign + '/schedule.private.tsv'
            before = os.umask(0o077)
            is_written = files.replace(self.path, text)
            os.umask(before)
            if not is_written:
                die(2, "cannot write '%s' (not allowed, or no space left?)" % self.path)
        keep(self.campaign, 'schedule.tsv', shown)

    def change(self, changed: Callable[[List[str], Set[str]], List[str]]) -> None:
        """Each line of the file, and of the one with the words as they are, by a function of the lines and
        the complete launches."""
        self.find_complete()
        for name in ('schedule.tsv', 'schedule.private.tsv'):
            path = self.campaign + '/' + name
            if not os.path.isfile(path):
                continue
            text = '\n'.join(changed(files.read(path).rstrip('\n').split('\n'), self.complete))
            if not files.replace(path, text):
                die(2, "cannot write '%s' (not allowed, or no space left?)" % path)
        self.load()

    def add_to_head(self, line: str) -> None:
        """A line before the names of the columns."""
        self.change(lambda lines, complete: [kept for each in lines
                                             for kept in ([line, each] if is_columns(each) else [each])])


def is_columns(line: str) -> bool:
    return line.split('\t', 1)[0] == 'launch'


def is_launch(line: str) -> bool:
    return not line.startswith('#') and not is_columns(line)


def keep(campaign: str, name: str, text: str) -> None:
    """A file of the campaign, in one step."""
    if not files.replace(campaign + '/' + name, text):
        die(2, "cannot write '%s/%s' (not allowed, or no space left?)" % (campaign, name))


def is_complete(campaign: str, launch: str) -> bool:
    path = '%s/%s/launch.json' % (campaign, launch)
    said = document.undamaged(path) if os.path.lexists(path) else None  # type: Optional[document.Document]
    return said is not None and said.text('ended') == 'complete'

"""Words for people and for schedules: messages, times, quoting, random orders. Nothing here starts a process
or opens a file."""
import os
import re
import time
from typing import Iterable, List, NoReturn, Optional, Sequence, Tuple

# what another program of noiselab printed is not as it says: a bug, or two versions side by side
NOT_OURS = 70

UNIT_NS = {'ns': 1, 'us': 10**3, 'ms': 10**6, 's': 10**9, 'min': 60 * 10**9, 'h': 3600 * 10**9}
SECOND_NS = 10**9


class Stop(Exception):
    """The end of the run, with its exit status; the message is printed as one line, and nothing where it is
    empty."""

    def __init__(self, status: int, message: str = '') -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Interrupted(Exception):
    """A signal came while no launch was running."""


def die(status: int, *words: str) -> NoReturn:
    """Ends the run with that status and message."""
    raise Stop(status, ' '.join(words))


def put(text: str, fd: int = 1) -> None:
    """Writes text at once, in the bytes that it was read in."""
    data = os.fsencode(text)
    while data:
        data = data[os.write(fd, data):]


def note(*words: str) -> None:
    """Prints a message, without what a terminal would obey: parts of it may be what others said."""
    put('noiselab-run: %s\n' % re.sub('[\x01-\x08\x0b-\x1f\x7f]', '?', ' '.join(words)), 2)


def first_line(text: str) -> str:
    """The first line that says something, for messages that are one line."""
    return next((line for line in text.split('\n') if line.strip()), '')


def first_line_with_letters(text: str) -> str:
    """The first line that has a letter: launchers draw lines of dashes around what they say."""
    return next((line for line in text.split('\n') if re.search('[A-Za-z]', line)), '')


def last_words(text: str) -> str:
    """The last line that has a letter, cut to 200 characters."""
    return next((line for line in reversed(text.split('\n')) if re.search('[A-Za-z]', line)), '')[:200]


def without_name(text: str) -> str:
    """The first line of what a program said, without the program's name."""
    return re.sub('^noiselab-[a-z].*?: ', '', first_line(text))


def quoted(words: Iterable[str]) -> str:
    """The words as a shell would have to read them."""
    return ' '.join(word if re.fullmatch('[A-Za-z0-9_./:%+,@=-]+', word) else "'" + word.replace("'", "'\\''")
                    + "'"
                    for word in words)


def unquoted(text: str) -> List[str]:
    """The words that quoted() made a text of; nothing in it is evaluated."""
    import shlex
    return shlex.split(text)


def without(text: str, end: str) -> str:
    """The text without that end, if it has it."""
    return text[:-len(end)] if text.endswith(end) else text


# ---- checks of values

def is_whole(value: str) -> bool:
    return re.fullmatch('[1-9][0-9]*', value) is not None


def whole(name: str, value: str) -> int:
    """Refuses what is not a whole number of at least 1."""
    if not is_whole(value):
        die(2, "%s: '%s' is not a positive whole number" % (name, value))
    return int(value)


def countable(seed: str) -> None:
    """Refuses a seed that cannot be counted on from launch to launch; schedules of earlier versions stop at
    18 digits."""
    if seed != '0':
        whole('--seed (with several launches)', seed)
    if len(seed) > 18:
        die(2, "--seed: '%s' has more than 18 digits, too many to count on from launch to launch" % seed)


def check_level(name: str, percent: str, example: str) -> None:
    """Refuses what is no level in percent above 0."""
    if not re.fullmatch(r'[0-9]*\.?[0-9]*', percent) or not re.search('[1-9]', percent):
        die(2, "%s: '%s' is not a level in percent above 0 (try %s)" % (name, percent, example))


def check_margin(margin: str, has_program: bool = False) -> None:
    """Refuses what is no margin: of one node's slowdown (1%), or of so many nodes that synchronise so often
    (1%:nodes=1000,every=1ms), where bursts that may come and were not seen are no longer than unseen=TIME."""
    percent, at_scale, keys = margin.partition(':')
    percent = without(percent, '%')
    if not re.fullmatch(r'[0-9]*\.?[0-9]*', percent) or not re.search('[1-9]', percent):
        die(2, "--margin: '%s' is not a margin in percent above 0 (try 1%%, or 1%%:nodes=1000,every=1ms)"
            % margin)
    if not at_scale:
        return
    given = keys.split(',')
    for key in reversed(given):
        if not re.fullmatch(r'nodes=[1-9][0-9]{0,6}|(every|unseen)=[0-9]*\.?[0-9]*(ns|us|ms|s|min|h)',
                            key) or not re.search('=.*[1-9]', key):
            die(2, "--margin: '%s' is none of nodes=N, every=TIME, unseen=TIME (try 1%%:nodes=1000,every=1ms)"
                % key)
    named = {key.split('=')[0] for key in given}
    # a program has a step of its own
    if 'nodes' not in named or not ('every' in named or has_program):
        die(2, "--margin: '%s' does not say how many nodes synchronise how often (try "
            "1%%:nodes=1000,every=1ms)" % margin)


def parts_of(name: str, text: str, example: str) -> List[str]:
    """The parts of a list with commas; refuses empty ones."""
    parts = text.split(',')
    if '' in parts:
        die(2, "%s: '%s' has an empty part (try %s)" % (name, text, example))
    return parts


# ---- times

def nanoseconds(text: str) -> int:
    """A time with its unit (s without one) in ns; 0 for what is no time."""
    found = re.fullmatch(r'([0-9]*)(\.([0-9]*))?(ns|us|ms|s|min|h|)', text)
    if not found:
        return 0
    size = UNIT_NS[found.group(4) or 's']
    fraction = int(((found.group(3) or '') + '000000000')[:9])
    return int('0' + found.group(1)) * size + (fraction * size // SECOND_NS if size >= 1000 else 0)


def is_time(text: str) -> bool:
    """Whether it is a time with its unit."""
    return re.fullmatch(r'([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|min|h)', text) is not None


def time_above_0(name: str, text: str) -> int:
    """A time with its unit, in ns; refuses what is none."""
    if not is_time(text):
        die(2, "%s: '%s' is not a time with its unit (try 100ms, 10s)" % (name, text))
    if nanoseconds(text) == 0:
        die(2, "%s: '%s' is not a time above 0" % (name, text))
    return nanoseconds(text)


def decimals(number: int, scale: int) -> str:
    """number / scale, a power of ten, with no more digits than it takes."""
    text = '%d.%0*d' % (number // scale, len(str(scale)) - 1, number % scale)
    return text.rstrip('0').rstrip('.')


def say_time(seconds: int) -> str:
    """A time for people."""
    if seconds < 120:
        return '%d s' % seconds
    if seconds < 7200:
        minutes, rest = divmod(seconds, 60)
        # to the nearest minute, halves to the even one
        return '%d min' % (minutes + (rest > 30 or (rest == 30 and minutes % 2)))
    return '%d h %d min' % (seconds // 3600, seconds % 3600 // 60)


def say_seconds(seconds: float) -> str:
    """A time of a plan for people, in which parts add up to their total."""
    return '%.0f s' % seconds if round(seconds) < 120 else '%d min %d s' % divmod(round(seconds), 60)


def say_ns(ns: float) -> str:
    """A time of up to minutes for people, in four digits."""
    if ns < 1e6:
        return '%.4g us' % (ns / 1e3)
    return '%.4g ms' % (ns / 1e6) if ns < 1e9 else '%.4g s' % (ns / 1e9)


def now() -> int:
    """Seconds since 1970."""
    return int(time.time())


def utc(form: str) -> str:
    """This moment."""
    return time.strftime(form, time.gmtime())


# ---- orders and lists

def shuffled(seed: int, sets: int, items: Sequence[str]) -> List[Tuple[int, str]]:
    """The items once for each set, in an order of its own that the seed decides; the number of the set, from
    1, comes first."""
    # the minimal standard generator (Park, Miller 1988)
    state = seed % 2147483646 + 1
    for _ in range(20):
        state = state * 16807 % 2147483647
    order = list(items)
    out = []  # type: List[Tuple[int, str]]
    for number in range(1, sets + 1):
        for i in range(len(order), 1, -1):
            state = state * 16807 % 2147483647
            j = i * state // 2147483647
            order[i - 1], order[j] = order[j], order[i - 1]
        out += [(number, item) for item in order]
    return out


def powers_of_two(first: int, last: int) -> str:
    """A list such as 2,4,8, and `last` itself."""
    powers = []
    while first < last:
        powers.append(first)
        first *= 2
    return ','.join(map(str, powers + [last]))


def number_of(text: str) -> Optional[int]:
    """A whole number without a sign, or nothing."""
    return int(text) if re.fullmatch('[0-9]+', text) else None


def rounded(number: float) -> str:
    """As %g prints it."""
    return '%g' % number

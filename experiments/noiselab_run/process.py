"""The one place that starts processes: programs that are asked something, and what signals mean meanwhile.
Never a shell."""
import os
import signal
import subprocess
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from noiselab_run.text import NOT_OURS, Interrupted, Stop, die, put, quoted

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NOTHING = subprocess.DEVNULL


class Signals:
    """A signal ends the run after what runs in the foreground; while a launch runs it ends the launch, and is
    remembered."""

    def __init__(self) -> None:
        self.interrupted = False
        self.stop = None  # type: Optional[Callable[[], None]]
        self._catches = False
        self._n_foreground = 0
        self._is_pending = False

    def install(self) -> None:
        """A signal that was ignored when this process started stays ignored, as in a shell."""
        for number in HANDLED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._handle)

    def catch(self) -> None:
        """From here on a signal calls `stop`, and is remembered."""
        self.interrupted = False
        self.stop = None
        self._catches = True

    def end(self) -> None:
        """From here on a signal is the end."""
        self._catches = False

    def ignore(self) -> None:
        for number in HANDLED:
            signal.signal(number, signal.SIG_IGN)

    def _handle(self, number: int, frame: Any) -> None:
        if self._catches:
            self.interrupted = True
            if self.stop is not None:
                self.stop()
        elif self._n_foreground:
            self._is_pending = True
        else:
            raise Interrupted()

    def begin_foreground(self) -> None:
        self._n_foreground += 1

    def end_foreground(self) -> None:
        self._n_foreground -= 1
        if self._is_pending and not self._n_foreground:
            self._is_pending = False
            raise Interrupted()


signals = Signals()

Said = NamedTuple('Said', [('status', int), ('out', str), ('err', str)])
Stream = Union[int, None, Any]


def status_of(code: int) -> int:
    """As a shell has it: 128 and the number of the signal."""
    return code if code >= 0 else 128 - code


def start(words: Sequence[str], stdin: Stream = None, stdout: Stream = None, stderr: Stream = None,
          env: Optional[Dict[str, str]] = None) -> 'subprocess.Popen[bytes]':
    """A process in the background; OSError where it cannot be started."""
    return subprocess.Popen([os.fsencode(word) for word in words], stdin=stdin, stdout=stdout, stderr=stderr,
                            env=env)


def _in_foreground(words: Sequence[str], stdin: Optional[bytes], streams: Tuple[Stream, Stream, Stream],
                   env: Optional[Dict[str, str]]) -> Said:
    """What cannot be started has status 127, as from a shell."""
    signals.begin_foreground()
    try:
        child = start(words, *streams, env=env)
        out, err = child.communicate(stdin)
        return Said(status_of(child.returncode), os.fsdecode(out or b''), os.fsdecode(err or b''))
    except OSError as error:
        reason = "cannot start '%s': %s\n" % (words[0], os.strerror(error.errno or 0))
        if streams[2] is None:
            put('noiselab-run: ' + reason, 2)
        return Said(127, reason if streams[2] == subprocess.STDOUT else '', reason)
    finally:
        signals.end_foreground()


def ask(words: Sequence[str], stdin: Optional[str] = None, stderr: Stream = subprocess.PIPE,
        env: Optional[Dict[str, str]] = None) -> Said:
    """Runs a program and takes in what it prints; its input is `stdin`, or ours."""
    streams = (None if stdin is None else subprocess.PIPE, subprocess.PIPE, stderr)
    return _in_foreground(words, None if stdin is None else os.fsencode(stdin), streams, env)


def ask_all(words: Sequence[str], env: Optional[Dict[str, str]] = None) -> Tuple[int, str]:
    """The same without an input, with both outputs as one text."""
    said = _in_foreground(words, None, (NOTHING, subprocess.PIPE, subprocess.STDOUT), env)
    return said.status, said.out


def said_by(*words: str) -> str:
    """What a program of the system prints; nothing where it is missing or fails."""
    return ask(words, stderr=NOTHING).out


def run(words: Sequence[str], stdin: Stream = None, stdout: Stream = None, stderr: Stream = None,
        env: Optional[Dict[str, str]] = None) -> int:
    """Runs a program in the foreground; its status."""
    return _in_foreground(words, None, (stdin, stdout, stderr), env).status


def is_running(child: 'subprocess.Popen[bytes]') -> bool:
    return child.poll() is None


def terminate(child: 'Optional[subprocess.Popen[bytes]]') -> None:
    """Tells it to end, if it still runs."""
    if child is not None and child.poll() is None:
        child.send_signal(signal.SIGTERM)


class Programs:
    """Programs of noiselab: where they are, and what is asked of them that this package does not know itself.
    """

    def __init__(self, bin_folder: str, libexec: str) -> None:
        self.bin = bin_folder
        self.libexec = libexec
        self._taker = {}  # type: Dict[Tuple[str, ...], Dict[str, Tuple[str, bool]]]

    def path(self, name: str) -> str:
        return self.bin + '/' + name

    @property
    def helper(self) -> str:
        """What is left to C: processes that end with this one, and what programs in C know, too."""
        return self.libexec + '/noiselab-sh'

    def did_you_mean(self, word: str, words: Sequence[str]) -> str:
        """': did you mean ...?' where one of the words is like it; else nothing."""
        said = ask([self.helper, 'nearest', word], ''.join(w + '\n' for w in words))
        return ': did you mean %s?' % said.out.rstrip('\n') if said.status == 0 else ''

    def redacted(self, text: str) -> Tuple[str, bool]:
        """The text with *** for passwords and the like, and whether there were some."""
        said = ask([self.helper, 'redact'], text + '\n')
        if said.status not in (0, 1):
            die(2, 'cannot make a copy without passwords (no space left?)')
        return said.out.rstrip('\n'), said.status == 1

    def split(self, text: str) -> List[str]:
        """The words of a command, as programs split it: blanks divide; quotes and backslashes keep; nothing
        is expanded."""
        said = ask([self.helper, 'split', text])
        put(said.err, 2)
        if said.status:
            raise Stop(2)
        return said.out.split('\0')[:-1]

    def node_names(self, whose: str, words: Sequence[str]) -> List[str]:
        """Nodes of a list as Slurm writes them (words: nodes LIST, or job-nodes)."""
        status, text = ask_all([self.helper] + list(words))
        text = text.rstrip('\n')
        if status:
            die(2, '%s: %s' % (whose, text[len('noiselab-sh: '):] if text.startswith('noiselab-sh: ')
                               else text))
        return text.split('\n')

    def options_of(self, takers: Sequence[str]) -> Dict[str, Tuple[str, bool]]:
        """For each option of these programs the first one that takes it, and whether it has a value, as
        listed when noiselab was made."""
        key = tuple(takers)
        if key not in self._taker:
            path = os.path.dirname(self.bin) + '/share/noiselab/words.tsv'
            rows = {}  # type: Dict[str, List[Tuple[str, bool]]]
            with open(path, 'rb') as file:
                for line in file:
                    field = os.fsdecode(line).rstrip('\n').split('\t')
                    if len(field) > 3 and field[1] == 'option':
                        rows.setdefault(field[0].replace('noiselab-', '', 1),
                                        []).append((field[2], field[3] != '-'))
            found = {}  # type: Dict[str, Tuple[str, bool]]
            for taker in takers:
                for name, has_value in rows.get(taker, []):
                    found.setdefault(name, (taker, has_value))
            if not found:
                die(NOT_OURS, "'%s' names no option of noiselab-%s: run make, or make install, again"
                    % (path, takers[0]))
            self._taker[key] = found
        return self._taker[key]

    def handed_on(self, words: Sequence[str], experiment: str) -> List[str]:
        """The detector's words, in which what is the generator's or the agent's stands as the detector has
        it, in --gen and --agent."""
        known = self.options_of(('detect', 'gen', 'agent'))
        out = []  # type: List[str]
        rest = list(words)
        while rest:
            word = rest.pop(0)
            taker, has_value = known.get(word.split('=', 1)[0],
                                         ('', False)) if word.startswith('--') and len(word) > 2 else ('',
                                                                                                       False)
            if taker in ('gen', 'agent'):
                if '=' not in word and has_value:
                    if not rest:
                        die(2, '%s needs a value (see noiselab run %s --help)' % (word, experiment))
                    word += '=' + rest.pop(0)
                out += ['--' + taker, quoted([word])]
            else:
                out.append(word)
        return out

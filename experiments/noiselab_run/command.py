"""noiselab run: finds the experiment, and ends with its status. An experiment is a file whose first line is a
docstring "NAME: what it answers", and which has a class of that name (NAME.capitalize())."""
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Callable, Dict, List

from noiselab_run import files
from noiselab_run.process import Programs, signals
from noiselab_run.status import USAGE
from noiselab_run.text import NOT_OURS, Interrupted, Stop, note, put

if TYPE_CHECKING:
    from noiselab_run.experiment import Experiment

TEXT = 'Usage: noiselab run EXPERIMENT [OPTIONS]\n\n%s\nnoiselab run EXPERIMENT --help says more.\n'


def experiments() -> Dict[str, str]:
    """What each answers, by name."""
    folder = os.path.dirname(os.path.abspath(__file__))
    found = {}  # type: Dict[str, str]
    for name in files.entries(folder):
        if name.endswith('.py'):
            with open(folder + '/' + name, 'rb') as file:
                row = re.match('"""([a-z]+): (.*?)("""|$)', os.fsdecode(file.readline()).rstrip('\n'))
            if row and row.group(1) + '.py' == name:
                found[row.group(1)] = row.group(2)
    return found


def programs() -> Programs:
    return Programs(os.environ['NOISELAB_BIN'], os.environ['NOISELAB_LIBEXEC'])


def begin() -> None:
    """What the environment of this process is not to hand down, and what signals mean."""
    # Python chooses a locale where there is none; what is started here has that of the user
    locale = os.environ.pop('NOISELAB_LC_CTYPE', None)
    if locale is not None:
        if locale == '-':
            os.environ.pop('LC_CTYPE', None)
        else:
            os.environ['LC_CTYPE'] = locale
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signals.install()


def run_experiment(name: str, words: List[str]) -> int:
    from importlib import import_module
    made = []  # type: List[Experiment]

    def command() -> int:
        made.append(getattr(import_module('noiselab_run.' + name), name.capitalize())(programs(), words))
        return made[0].main()

    return guarded(command, lambda: made[0].campaign.interruption() if made
                   else 'interrupted; nothing was measured')


def ask_of_us(words: List[str]) -> int:
    """What other programs of noiselab ask, and not people: the common part of all help texts, which Python
    this is, and whether ranks can be started, with a folder for what they write."""
    if words[0] == '--common-help':
        from noiselab_run.options import COMMON_USAGE
        put(COMMON_USAGE)
        return 0
    if words[0] == '--python':
        put('Python %d.%d.%d (%s)\n' % (sys.version_info[:3] + (sys.executable,)))
        return 0
    from noiselab_run.probe import try_launch
    return try_launch(programs(), words[1])


def guarded(command: Callable[[], int], interruption: Callable[[], str]) -> int:
    """Everything that ends a command comes by here: one line, and a status."""
    try:
        return command()
    except Stop as stop:
        if stop.message:
            note(stop.message)
        return stop.status
    except Interrupted:
        note(interruption())
        return USAGE
    except Exception as error:
        # 1 and 3 are answers, and this is none
        import traceback
        frame = traceback.extract_tb(error.__traceback__)[-1]
        note('%s: %s (%s, line %d): this is a mistake in noiselab run, please report it'
             % (type(error).__name__, error, os.path.basename(frame[0]), frame[1]))
        return NOT_OURS


def main(words: List[str]) -> int:
    begin()
    name = words[0] if words else ''
    if name in ('--common-help', '--python', '--try-launch'):
        return guarded(lambda: ask_of_us(words), lambda: 'interrupted')
    if name in ('', '-h', '--help', '--list', '--list-tables'):
        rows = experiments().items()
        text = ''.join('  %-16s %s\n' % row for row in rows)
        if name == '--list-tables':
            text = ''.join('experiment\t%s\t-\t%s\n' % row for row in rows)
        put(text if name.startswith('--list') else TEXT % text)
        return 0
    if name not in experiments():
        meant = programs().did_you_mean(name, list(experiments()))
        note("'%s' is not an experiment%s (see noiselab run --list)" % (name, meant))
        return USAGE
    return run_experiment(name, words[1:])

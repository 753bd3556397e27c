"""noiselab run: finds the experiment, and ends with its status. An experiment is a file whose first line is a
docstring "NAME: what it answers", and which has a class of that name (NAME.capitalize())."""
import os
import re
import signal
from typing import Dict, List

from noiselab_run import files
from noiselab_run.process import Programs, signals
from noiselab_run.text import NOT_OURS, Interrupted, Stop, die, note, put

USAGE = 'Usage: noiselab run EXPERIMENT [OPTIONS]\n\n%s\nnoiselab run EXPERIMENT --help says more.\n'


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
    """Everything that ends an experiment comes by here: one line, and a status."""
    from importlib import import_module
    experiment = None
    try:
        module = import_module('noiselab_run.' + name)
        experiment = getattr(module, name.capitalize())(programs(), words)
        return int(experiment.main())
    except Stop as stop:
        if stop.message:
            note(stop.message)
        return stop.status
    except Interrupted:
        note(experiment.campaign.interruption() if experiment else 'interrupted; nothing was measured')
        return 2
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
    if name in ('', '-h', '--help', '--list', '--list-tables'):
        rows = experiments().items()
        text = ''.join('  %-16s %s\n' % row for row in rows)
        if name == '--list-tables':
            text = ''.join('experiment\t%s\t-\t%s\n' % row for row in rows)
        put(text if name.startswith('--list') else USAGE % text)
        return 0
    try:
        if name not in experiments():
            die(2, "'%s' is not an experiment%s (see noiselab run --list)"
                % (name, programs().did_you_mean(name, list(experiments()))))
    except Stop as stop:
        note(stop.message)
        return stop.status
    return run_experiment(name, words[1:])

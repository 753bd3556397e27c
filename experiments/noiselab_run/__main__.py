# Started by noiselab-run: __main__.py NAME ARGUMENTS. Whatever Python this is has to read it.
import os
import signal
import sys

# until signals have their meaning one ends this without a word
if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if sys.version_info < (3, 6):
    sys.stderr.write('noiselab-run: Python %d.%d is too old: install Python 3.6 or later (package python3), '
                     'or name one in NOISELAB_PYTHON\n'
                     % (sys.version_info[0], sys.version_info[1]))
    sys.exit(2)
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from noiselab_run.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))

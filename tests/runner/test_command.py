"""What noiselab run is started by, and what it lists."""
import os
import subprocess
import sys

from help import Case
from noiselab_run import command

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


class Command(Case):
    def said(self, words, **environment):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, **environment))
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_no_python(self):
        """a Python that is not there is said in one line with the package's name, and no other one is taken
        for one that was named"""
        status, out, err = self.said(['sh', ROOT + '/experiments/noiselab-run', '--list'],
                                     NOISELAB_PYTHON='/none')
        self.assertEqual((status, out, err.count('\n')), (2, '', 1))
        self.assertIn("noiselab-run: there is no Python as NOISELAB_PYTHON names it (/none): install Python "
                      "3.6 or later (package python3)", err)

    def test_old_python(self):
        """a Python that is too old is said in one line, with what would do"""
        path = ROOT + '/experiments/noiselab_run/__main__.py'
        code = 'import sys; sys.version_info = (3, 5, 2); exec(compile(open(%r).read(), %r, "exec"))' % (path,
                                                                                                         path)
        status, out, err = self.said([sys.executable, '-I', '-c', code])
        self.assertEqual((status, out), (2, ''))
        self.assertEqual(err,
                         'noiselab-run: Python 3.5 is too old: install Python 3.6 or later (package '
                         'python3), or name one in NOISELAB_PYTHON\n')

    def test_experiments(self):
        """experiments are found by their first lines, and what they share is none"""
        with open(ROOT + '/common/contract/experiments.table', encoding='utf-8') as table:
            named = [line.split('\t')[0] for line in table if not line.startswith('#')]
        self.assertEqual(sorted(command.experiments()), sorted(named[1:]))
        for name in command.experiments():
            module = __import__('noiselab_run.' + name, fromlist=[name])
            experiment = getattr(module, name.capitalize())
            self.assertEqual(experiment.NAME, name)
            self.assertTrue(experiment.USAGE.startswith('Usage: noiselab run %s ' % name))
            self.assertTrue(os.path.exists('%s/experiments/%s.sbatch' % (ROOT, name)))

    def test_mistakes(self):
        """a mistake of the runner ends with status 70 and a line that says where, not with an answer"""
        kept = os.dup(2)
        read, write = os.pipe()
        os.dup2(write, 2)
        status = command.guarded(lambda: {}['x'], lambda: '')
        os.dup2(kept, 2)
        for fd in (kept, write):
            os.close(fd)
        self.assertEqual(status, 70)
        self.assertRegex(os.read(read, 999).decode(),
                         "^noiselab-run: KeyError: 'x' .test_command.py, line [0-9]+.: this is a mistake in "
                         "noiselab run")
        os.close(read)

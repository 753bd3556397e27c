"""What the tests of the runner share."""
import os
import shutil
import tempfile
import unittest

from noiselab_run.text import Stop


class Case(unittest.TestCase):
    """A test with a folder of its own, and an environment that is given back."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.environment = dict(os.environ)
        for name in list(os.environ):
            if name.startswith(('SLURM_', 'OMPI_', 'PRTE_', 'NOISELAB_')):
                del os.environ[name]

    def tearDown(self):
        shutil.rmtree(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)
        return path

    def program(self, name, lines):
        """A program of that name, first in PATH."""
        path = self.write('bin/' + name, '#!/bin/sh\n' + lines)
        os.chmod(path, 0o755)
        os.environ['PATH'] = os.path.dirname(path) + ':' + self.environment['PATH']

    def refused(self, words, function, *arguments, status=2):
        """It ends with that status and a message that holds these words."""
        with self.assertRaises(Stop) as caught:
            function(*arguments)
        self.assertIn(words, caught.exception.message)
        self.assertEqual(caught.exception.status, status)

"""tap.py NAME: the tests of one file of this folder, as TAP; a test is called by its docstring. Needs no MPI
and no build."""
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Tap(unittest.TestResult):
    """Prints each test as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.time()

    def line(self, test, is_ok, more=''):
        name = test.shortDescription() or str(test)
        print('%s %d - %s%s in %dms' % ('ok' if is_ok else 'not ok', self.testsRun, name, more,
                                        1000 * (time.time() - self.began)), flush=True)

    def addSuccess(self, test):
        self.line(test, True)

    def addSkip(self, test, reason):
        self.line(test, True, ' # skip ' + reason)

    def addError(self, test, error):
        super().addError(test, error)
        self.line(test, False)
        print(''.join('# %s\n' % line for line in self.errors[-1][1].split('\n')), end='')

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.line(test, False)
        print(''.join('# %s\n' % line for line in self.failures[-1][1].split('\n')), end='')


if __name__ == '__main__':
    sys.dont_write_bytecode = True
    sys.path[:0] = [HERE, os.path.join(HERE, '..', '..', 'experiments')]
    tests = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
    result = Tap()
    tests.run(result)
    print('1..%d' % result.testsRun)
    sys.exit(0 if result.wasSuccessful() else 1)

"""Claims: whose owner is gone, and who takes one over."""
import os
import subprocess
import sys
import time

from help import Case
from noiselab_run import claims
from noiselab_run.claims import Claims

BOOT = '00000000-0000-0000-0000-000000000000'


class TheClaims(Case):
    def is_gone(self, *fields):
        return claims.is_owner_gone('%s %s' % (claims.host(), ' '.join(fields)), self.folder)

    def test_gone(self):
        """an owner that has ended, or is from before its machine was started anew, is gone; one of another
        container or machine is not"""
        me, parent = claims.this_owner(), str(os.getppid())
        # a process with that number that started at another time is another one
        self.assertTrue(self.is_gone(parent, '1', '-', '0', me.boot, me.space))
        self.assertFalse(self.is_gone(parent, claims.process_start(parent), '-', '0'))
        self.assertFalse(self.is_gone(parent, '1', '-', '0', me.boot, 'pid:[1]'))
        if me.machine != '-':
            self.assertTrue(self.is_gone('1', '1', '-', '0', BOOT, 'pid:[1]', me.machine))
        self.assertFalse(self.is_gone('1', '1', '-', '0', BOOT, 'pid:[1]', 'another'))
        self.assertFalse(claims.is_owner_gone('elsewhere %s 1 - 0 %s' % (parent, me.boot), self.folder))
        ended = subprocess.Popen(['true'])
        ended.wait()
        self.assertTrue(self.is_gone(str(ended.pid), '7', '-', '0'))

    def test_jobs(self):
        """of a job Slurm says whether it is over; an earlier start of this job is, and a Slurm that does not
        answer says nothing"""
        job = '31 100 1 - 0'.split()
        self.program('squeue', "printf '%s\\n' '41 RUNNING' '42 COMPLETED'\n")
        self.assertFalse(self.is_gone('1', '1', '41', '0'))
        self.assertTrue(self.is_gone('1', '1', '42', '0'))
        self.program('squeue', 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1\n')
        self.assertTrue(self.is_gone('1', '1', '42', '0'))
        self.program('squeue', 'echo "Unable to contact slurm controller" >&2; exit 1\n')
        self.assertFalse(self.is_gone('1', '1', '42', '0'))
        os.environ.update(SLURM_JOB_ID='42', SLURM_RESTART_COUNT='1')
        self.assertTrue(self.is_gone('1', '1', '42', '0'))
        self.assertEqual(len(job), 5)

    def test_nameless(self):
        """a claim without a name is gone after a minute, and not before"""
        self.assertFalse(claims.is_owner_gone('', self.folder))
        os.utime(self.folder, (time.time() - 300,) * 2)
        self.assertTrue(claims.is_owner_gone('', self.folder))

    def test_claim(self):
        """a launch is claimed once, and given back"""
        one = Claims(self.folder, 'go on')
        self.assertTrue(one.claim('L'))
        self.assertFalse(one.claim('L'))
        self.assertEqual(open(self.folder + '/claims/L/owner').read().split()[1], str(os.getpid()))
        one.release('L')
        self.assertFalse(os.path.exists(self.folder + '/claims'))
        self.write('claims', '')
        self.refused('cannot write into', one.claim, 'L')

    def test_many(self):
        """a claim whose owner is gone is taken over by one only, however many see it at once"""
        code = ('import os, sys, time; sys.path.insert(0, %r)\n'
                'from noiselab_run.claims import Claims\n'
                'one = Claims(sys.argv[1], "")\n'
                'open(sys.argv[1] + "/ready." + str(os.getpid()), "w").close()\n'
                'while not os.path.exists(sys.argv[1] + "/go"): pass\n'
                'print(one.claim("L"), flush=True); sys.stdin.read()\n'
                % os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'experiments'))
        for owner in ('%s 1 7 - 0' % claims.host(), ''):
            for turn in range(3):
                folder = '%s/%d%s' % (self.folder, turn, 'x' if owner else '')
                os.makedirs(folder + '/claims/L')
                if owner:
                    open(folder + '/claims/L/owner', 'w').write(owner + '\n')
                else:
                    os.utime(folder + '/claims/L', (time.time() - 300,) * 2)
                # the claim of one that has ended may be taken over: none ends before all have tried
                all_of_them = [subprocess.Popen([sys.executable, '-B', '-c', code, folder],
                                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                               for _ in range(3)]
                while len([name for name in os.listdir(folder) if name.startswith('ready')]) < 3:
                    time.sleep(0.01)
                open(folder + '/go', 'w').close()
                said = [each.stdout.readline().strip() for each in all_of_them]
                for each in all_of_them:
                    each.communicate()
                self.assertEqual(sorted(said), [b'False', b'False', b'True'])

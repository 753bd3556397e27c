"""Slurm: times, the words of a step, and batch scripts, without Slurm."""
import os
import subprocess

from help import Case
from noiselab_run import slurm, submit
from noiselab_run.options import Options

TEMPLATE = '''#!/bin/bash
#SBATCH --nodes=2
#SBATCH --time=0:30:00
#SBATCH --exclusive
#SBATCH --array=1-9
# --- parameters --- (of it)
noiselab=noiselab  # the program: a = b
campaign=x-${SLURM_JOB_ID:-$(date)}  # folder
op=barrier  # operations
seconds=72  # time
PATH=x  # a
a-b=$(touch evaluated)  # b
tab=y  # c
options=()  # further options
job_options=()  # how
# --- end of parameters ---
exec "$noiselab" run --op="$op"'''


class Slurm(Case):
    def test_times(self):
        """times of Slurm, in both directions"""
        known = {'30': 1800, '2:30': 150, '1:00:00': 3600, '1-12': 129600, '1-12:30': 131400,
                 '1-0:0:5': 86405, '08:09': 489, 'UNLIMITED': None,
                 'infinite': None, '': None, '1:2:3:4': 3723, 'x': None}
        self.assertEqual({each: slurm.seconds(each) for each in known}, known)
        self.assertEqual([slurm.time(n) for n in (1, 60, 61, 3600, 90061)],
                         ['0:01:00', '0:01:00', '0:02:00', '1:00:00', '25:02:00'])

    def step(self, **environment):
        os.environ.update(SLURM_JOB_CPUS_PER_NODE='32(x2)', **environment)
        words, changes = slurm.step_words('pmix', 'x', [], (2, 1), False, '', True, 16, 0, ['program'])
        for name in environment:
            del os.environ[name]
        self.assertTrue(all(changes[name] is None for name in slurm.OF_THE_JOB))
        self.assertEqual(words[:6], ['srun', '--mpi=pmix', '--nodes=2', '--ntasks=2', '--job-name=x',
                                     '--kill-on-bad-exit=1'])
        return (' '.join(words[6:]), changes['SRUN_CPUS_PER_TASK'], changes['SLURM_ACCTG_FREQ'],
                changes.get('SLURM_CPU_BIND', 'kept'))

    def test_step(self):
        """a step of srun has its own CPUs per task and one kind of binding, whatever the job has"""
        plain = ('--cpu-bind=cores --ntasks-per-node=1 program', '2', 'task=0', 'kept')
        self.assertEqual(self.step(), plain)
        self.assertEqual(self.step(SLURM_CPUS_PER_TASK='8', SLURM_TRES_PER_TASK='cpu:8',
                                   SLURM_EXPORT_ENV='NONE'), plain)
        self.assertEqual(self.step(SLURM_HINT='nomultithread', SLURM_CPU_BIND='quiet'),
                         ('--ntasks-per-node=1 program', '1', 'task=0', None))
        self.assertEqual(self.step(SLURM_STEP_ID='0')[0],
                         '--overlap --cpu-bind=cores --ntasks-per-node=1 program')

    def test_cores(self):
        """a core is as many of Slurm's CPUs as the node with the fewest has for one"""
        for cpus, cores, n in (('64(x3),16', 16, 1), ('32(x2)', 16, 2), ('128,64(x2)', 16, 4), ('8', 0, 1),
                               ('4', 8, 1)):
            os.environ['SLURM_JOB_CPUS_PER_NODE'] = cpus
            self.assertEqual(slurm.cpus_per_core(cores), n)

    def test_order(self):
        """an order of nodes is a file with a line for each rank"""
        path = self.folder + '/hosts'
        words, changes = slurm.step_words('pmi2', 'x', ['n3', 'n1', 'n2'], (2, 2), True, path, False, 2, 5,
                                          ['p'])
        self.assertEqual(words[6:], ['--distribution=arbitrary', 'p'])
        self.assertEqual((changes['SLURM_HOSTFILE'], open(path).read(), changes['SLURM_ACCTG_FREQ']),
                         (path, 'n3\nn3\nn1\nn1\n', 'task=5'))

    def test_end(self):
        """the end of a job is what Slurm says, or what is left of it"""
        self.program('srun', 'exit 0\n')
        self.assertIsNone(slurm.ends_at())
        os.environ.update(SLURM_JOB_ID='7', SLURM_JOB_END_TIME='1234')
        self.assertEqual(slurm.ends_at(), 1234)
        del os.environ['SLURM_JOB_END_TIME']
        self.program('squeue', 'echo 1:00\n')
        self.assertAlmostEqual(slurm.ends_at() - slurm.now(), 60, delta=2)
        self.program('squeue', 'echo UNLIMITED\n')
        self.assertIsNone(slurm.ends_at())

    def test_mpi(self):
        """srun starts ranks by what the MPI library speaks, and it has"""
        class programs:
            path = staticmethod(lambda name: '/bin/' + name)
        self.program('ldd', 'echo "libmpi.so.40 => x"\n')
        self.program('srun', 'echo "MPI plugin types are: none cray_shasta pmi2 pmix"; echo "specific pmix '
                     'plugin versions available: pmix_v4"\n')
        self.assertEqual(slurm.find_srun_mpi(programs), 'pmix')
        self.program('ldd', 'echo "libmpich.so.12 => x"\n')
        self.assertEqual(slurm.find_srun_mpi(programs), 'pmi2')
        self.program('srun', 'echo "none pmix_v4"\n')
        self.assertEqual(slurm.find_srun_mpi(programs), '')
        os.environ['NOISELAB_SRUN_MPI'] = 'x'
        self.assertEqual(slurm.find_srun_mpi(programs), 'x')


class Batch(Case):
    def test_fill(self):
        """a script gets its lines and values, keeps what it sets besides, and nothing of it is evaluated"""
        lines = [('time', '--time=1:00:00'), ('array', '--array=1-3%1'), ('C', '-C haswell')]
        made = submit.fill(TEMPLATE, lines, {'noiselab': '/x/noiselab', 'campaign': "'a b'", 'op': "'x y'",
                                             'options': '(--a)', 'b': 'no'})
        self.assertEqual(made.split('\n')[1:9], ['#SBATCH --nodes=2', '#SBATCH --exclusive',
                                                 '#SBATCH --time=1:00:00', '#SBATCH --array=1-3%1',
                                                 '#SBATCH -C haswell', '# --- parameters --- (of it)',
                                                 'noiselab=/x/noiselab  # the program: a = b',
                                                 "campaign='a b'  # folder"])
        for line in ("op='x y'  # operations", 'seconds=72  # time', 'a-b=$(touch evaluated)  # b',
                     'tab=y  # c', 'options=(--a)  # further options',
                     'PATH=x  # a', 'exec "$noiselab" run --op="$op"'):
            self.assertIn(line, made.split('\n'))
        self.assertEqual(submit.fill(made, lines[:2], {}).count('--time=1:00:00'), 1)
        self.assertEqual(subprocess.run(['bash', '-n'], input=made.encode()).returncode, 0)

    def test_ranges(self):
        """tasks as sbatch takes them"""
        self.assertEqual([submit.ranges_of(set(tasks))
                          for tasks in ([1, 2, 3, 7], [5], [1, 3, 4], range(1, 400))],
                         ['1-3,7', '5', '1,3-4', '1-399'])

    def test_partition(self):
        """a partition that is not there, or has too few nodes, is refused"""
        self.program('sinfo', "printf '%s\\n' 'main* infinite 8' 'short 30:00 4' 'short 30:00 2'\n")
        made = submit.Submission.__new__(submit.Submission)
        made.options = {'dry_run': ''}
        made._find_partition('', '8')
        self.assertEqual((made.partition, made.partition_s), ('main', None))
        made._find_partition('short', '6')
        self.assertEqual((made.partition, made.partition_s), ('short', 1800))
        self.refused("'none' is not a partition here (main,short)", made._find_partition, 'none', '')
        self.refused("7 nodes asked for, and partition 'short' has 6", made._find_partition, 'short', '7')
        self.program('sinfo', "echo 'slurm_load_partitions: error: Unable to contact' >&2; exit 1\n")
        self.refused('Slurm does not answer: Unable to contact', made._find_partition, '', '')
        made.options = {'dry_run': 'yes'}
        made._find_partition('', '')
        self.assertEqual(made.unchecked, 'Slurm does not answer: Unable to contact')

    def test_values(self):
        """parameters are the options' values, and what the script has no variable for is among the further
        options"""
        class experiment:
            NAME, words_for_program, answer_options = 'sensitivity', '--warmup 0s', ''
            options = Options('sensitivity', 'value op seconds kind\nflag shell')
            scratch = None

            class campaign:
                folder = '/data/a b'

            class programs:
                path = staticmethod(lambda name: '/bin/' + name)
        experiment.options.read(['--op', 'x', '--kind', 'a b', '--shell', '--partition', 'p', '--out', 'o'],
                                lambda name: None, lambda word: None)
        values = submit.Submission(experiment)._values(TEMPLATE, ' --no-report')
        self.assertEqual([values[name] for name in ('noiselab', 'campaign', 'op', 'seconds', 'options',
                                                    'job_options')],
                         ['/bin/noiselab', "'/data/a b'", 'x', "''", "(--warmup 0s --kind 'a b' --shell)",
                          '(--no-report)'])
        experiment.options['resume'] = 'x'
        self.assertEqual(sorted(submit.Submission(experiment)._values(TEMPLATE, '')),
                         ['campaign', 'job_options', 'noiselab'])

"""How ranks are started: words of launchers, orders of nodes, what is told of what a launcher says."""
import os
import re
import struct

from help import Case
from noiselab_run import files
from noiselab_run.launch import Farewell, Followed, Launcher, Step
from noiselab_run.nodes import Nodes, Spread
from noiselab_run.options import Options
from noiselab_run.process import Programs

RULE = '-' * 74


class Launch(Case):
    def setUp(self):
        super().setUp()
        self.options = Options('sensitivity', '')
        programs = Programs('/bin', '/libexec')
        self.nodes = Nodes(programs, self.options)
        self.launcher = Launcher(programs, self.options, self.nodes, files.Scratch(), 'sensitivity')
        self.launcher.kind, self.launcher.flavour = 'mpirun', 'openmpi'

    def words(self, nodes='-', shape=(1, 2), n_nodes=1, env=None):
        step = Step('x', nodes)
        step.shape, self.nodes.n_nodes = Spread(*shape), n_nodes
        step.env.update(env or {})
        return ' '.join(self.launcher.words(step, ['program', 'a b'])[0])

    def test_openmpi(self):
        """Open MPI maps and binds to cores, unless the user or the launch says otherwise"""
        self.assertEqual(self.words(), 'mpirun -n 2 --bind-to core --map-by core program a b')
        self.assertEqual(self.words(shape=(3, 2), n_nodes=3),
                         'mpirun -n 6 --bind-to core --map-by ppr:2:node program a b')
        self.assertEqual(self.words(env={'OMPI_MCA_rmaps_base_mapping_policy': 'numa'}),
                         'mpirun -n 2 --bind-to core program a b')
        os.environ['PRTE_MCA_hwloc_default_binding_policy'] = 'none'
        self.assertEqual(self.words(), 'mpirun -n 2 --bind-to none --map-by slot program a b')

    def test_hosts(self):
        """each of 400 hosts has its context, in the order of the list"""
        hosts = ['n%d' % i for i in range(1, 401)]
        step = Step('x', ','.join(hosts))
        step.shape = Spread(400, 2)
        words, _ = self.launcher.words(step, ['program', 'a b'])
        self.assertEqual((words.count('program'), words.count('a b'), words.count(':')), (400, 400, 399))
        self.assertEqual([words[i + 1] for i, word in enumerate(words) if word == '--host'],
                         [host + ':2' for host in hosts])

    def test_hydra(self):
        """MPICH and its relatives have words of their own, and an unknown launcher none"""
        self.launcher.flavour = 'hydra'
        self.assertEqual(self.words('n1,n2', (2, 3), 4),
                         'mpirun -n 6 -bind-to core -ppn 3 -hosts n1,n2 program a b')
        self.launcher.flavour = 'unknown'
        self.assertEqual(self.words(), 'mpirun -n 2 program a b')

    def test_environment(self):
        """a launch is under its own settings, and Open MPI is told twice of root"""
        step = Step('x')
        step.env['UCX_X'] = '1'
        step.take_turns()
        words, env = self.launcher.words(step, ['p'])
        self.assertEqual((env['UCX_X'], env['OMPI_MCA_mpi_yield_when_idle']), ('1', '1'))
        self.assertEqual('OMPI_ALLOW_RUN_AS_ROOT_CONFIRM' in env, os.geteuid() == 0)
        self.assertEqual(words, ['mpirun', '-n', '1', '--bind-to', 'none', '--map-by', 'slot', 'p'])

    def test_words_of_a_row(self):
        """what a row says to the runner is taken, and everything else is the program's"""
        self.nodes.names, self.options.values['hosts'] = ['a', 'b', 'c', 'd'], 'a,b,c,d'

        def taken(*words):
            step = Step('x')
            return step.take_words(list(words), 'schedule', self.nodes), step
        words, step = taken('--program=accept', '--rotate=1:3', '--noise-node=2', '--with=UCX_A=b', '--op',
                            'empty', '--rotate=1:1')
        self.assertEqual(words, ['--op', 'empty', '--rotate=1:1'])
        self.assertEqual((step.program, step.nodes, step.is_ordered, step.noise_node, step.env),
                         ('noiselab-accept', 'b,a,d,c', True, 'a', {'UCX_A': 'b'}))
        # a step that would not reach all of four nodes is 1
        self.assertEqual(taken('--rotate=2:2')[1].nodes, 'c,d,a,b')
        self.assertEqual(taken('--rotate=0:1')[1].nodes, '-')
        self.assertEqual(taken('--noise-node=6')[1].noise_node, 'b')
        for word in ('--rotate=x', '--rotate=1:0', '--rotate=1', '--noise-node=0', '--noise-node=',
                     '--with=LD_PRELOAD=x', '--with=UCX_A=a;b'):
            self.refused("'schedule': '%s' is not" % word, taken, word)

    def test_farewell(self):
        """of what Open MPI says that a rank ended with a status nothing is told, and all else is, as it comes
        """
        lines = ['before', RULE, 'Primary job  terminated normally, but 1 process returned',
                 'a non-zero exit code.', RULE,
                 RULE, 'mpirun detected that one or more processes exited with non-zero status, thus causing',
                 '', '  Exit code:    2', RULE,
                 RULE, 'There are not enough slots', RULE, 'after', RULE, 'cut off']
        told = ['before', RULE, 'There are not enough slots', RULE, 'after', RULE, 'cut off']
        for size in (1, 7, 4096):
            read, write = os.pipe()
            farewell = Farewell(write)
            data = ''.join(line + '\n' for line in lines).encode()
            for i in range(0, len(data), size):
                farewell.take(data[i:i + size])
            farewell.end()
            os.close(write)
            self.assertEqual(os.read(read, 65536).decode(), ''.join(line + '\n' for line in told))
            os.close(read)


class Program(Launch):
    def test_head(self):
        """the ranks of a program that is followed stand where its profile has them, in every version of that
        """
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, '..', '..', 'detector', 'profile', 'profile_file.h')) as file:
            header = file.read()
        magic = re.search('#define NF_MAGIC "(.*)"', header).group(1)
        fields = re.search(r'struct nf_file \{(.*?)node,', header, re.DOTALL).group(1)
        self.assertEqual(re.sub(r'/\*.*?\*/|\s+', ' ', fields).split(),
                         'char magic[8]; uint32_t file_bytes, row_bytes; int32_t rank, n_ranks,'.split())
        followed = Followed.__new__(Followed)
        followed.folder = self.folder
        self.assertEqual(followed._ranks(), 0)
        for data, n in ((magic.encode() + struct.pack('<xIIii', 1, 2, 0, 5), 5), (b'NLPROF', 0),
                        (b'\0' * 99, 0)):
            with open(self.folder + '/rank.0.profile', 'wb') as file:
                file.write(data)
            self.assertEqual(followed._ranks(), n)


class Ranks(Launch):
    def test_spread(self):
        """ranks are spread over as many nodes as hold the same number each, and no more than there are cores
        """
        self.nodes.cores = 4
        self.assertEqual([self.nodes.spread('--ranks', n, 3) for n in ('1', '2', '3', '4', '6', '12')],
                         [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (3, 4)])
        self.refused('5 ranks on 4 allowed cores would disturb each other: start at most 4',
                     self.nodes.spread, '--ranks', '5', 1)
        self.refused('5 ranks on 3 nodes of 4 allowed core(s) would be 5 on each of 1', self.nodes.spread,
                     '--ranks', '5', 3)
        self.nodes.cores = 0
        self.assertEqual(self.nodes.spread('--ranks', '999', 1), (1, 999))

"""Nodes: which there are, how many cores each may use, how ranks are spread over them, and the sets that
launches run on."""
import os
import re
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from noiselab_run import document, slurm
from noiselab_run.options import Options
from noiselab_run.process import Programs, ask
from noiselab_run.text import NOT_OURS, Stop, die, first_line, note, powers_of_two, put, whole

ALL = '-'  # in place of a list of nodes: all of them, or this machine

Node = NamedTuple('Node', [('host', str), ('cores', int)])
Spread = NamedTuple('Spread', [('n_nodes', int), ('per_node', int)])


def names_of(nodes: str) -> List[str]:
    return nodes.split(',')


class Nodes:
    """Those of a Slurm job, of --hosts, or this machine. `look` asks --hosts for their CPUs, by a launcher.
    """

    def __init__(self, programs: Programs, options: Options) -> None:
        self.programs = programs
        self.options = options
        self.names = []  # type: List[str]  # empty where nodes have no names to choose among
        self.nodes = []  # type: List[Node]
        self.n_nodes = 1
        self.cores = 0  # of the node that has the fewest; 0: unknown
        self.sets = [ALL]  # lists with commas, each set of a launch
        self.look = lambda: ''  # type: Callable[[], str]
        self.plan_later = ''  # why the nodes are not known before the job

    @property
    def hosts(self) -> str:
        return self.options['hosts']

    def have_names(self) -> bool:
        return self.hosts != '' or slurm.in_job()

    def whose(self) -> str:
        """Whose they are, for messages."""
        return '--hosts' if self.hosts else 'job ' + slurm.job()

    def find_names(self) -> None:
        self.names = []
        if self.hosts:
            self.names = self.programs.node_names('--hosts', ['nodes', self.hosts])
        elif slurm.in_job():
            self.names = self.programs.node_names('job ' + slurm.job(), ['job-nodes'])

    def check_hosts(self) -> None:
        """Makes one name after the other of --hosts, each once. A Slurm job has nodes of its own."""
        if not self.hosts:
            return
        if self.options['submit']:
            die(2, '--hosts: a batch job has nodes of its own (--nodes N); leave it out')
        if slurm.in_job():
            die(2, '--hosts: this is job %s, and the nodes are its own: choose among them with --nodes or '
                '--node-sets' % slurm.job())
        if self.options['launcher'] == 'srun':
            die(2, '--launcher srun: --hosts are reached by mpirun; leave one of them out')
        self.find_names()
        self.options['hosts'] = ','.join(self.names)

    # ---- cores

    def find_cpus(self) -> None:
        """Sets nodes and cores, once for all launches."""
        if self.nodes:
            return
        self.find_names()
        if self.hosts:
            look = self.look()
        elif slurm.in_job():
            look = slurm.cpus(self.programs)
        else:
            said = ask([self.programs.path('noiselab-gen'), '--list', 'cpus'], stderr=None)
            if said.status:
                raise Stop(2)
            look = said.out
        # launchers add words of their own
        found = [re.fullmatch(r'(\S+)\s+([0-9]+)\s+\S+', line) for line in look.split('\n')]
        self.nodes = sorted((Node(match.group(1), int(match.group(2))) for match in found if match),
                            key=lambda node: os.fsencode(node.host))
        if not self.nodes:
            die(NOT_OURS, "noiselab-gen --list cpus said '%s', not 'host cores cpus'" % first_line(look))
        self.n_nodes = len(self.nodes)
        if self.hosts:
            self._refuse_strange_hosts()
        # the fewest: nodes that differ are refused where that matters
        self.cores = min(node.cores for node in self.nodes)

    def _refuse_strange_hosts(self) -> None:
        """The load of one node is addressed by the name that the node itself has."""
        called = [node.host for node in self.nodes]
        for name in self.names:
            short = name.split('.')[0]
            # a name without its domain may be any node of that short name, and one with it those that do not
            # say theirs
            n_meant = sum(other.split('.')[0] == short
                          for other in called) if short == name else called.count(name) + called.count(short)
            if n_meant == 1 or 0 < n_meant <= called.count(name):
                continue
            what = 'several nodes could be ' + name if n_meant else 'no node calls itself ' + name
            die(2, '--hosts: %s: they are %s (uname -n); say these names' % (what, ','.join(called)))

    def require_same_cores(self) -> None:
        """Refuses nodes with different numbers of cores, where one rank per core is asked for."""
        of_kind = {}  # type: Dict[int, List[str]]
        for node in self.nodes:
            of_kind.setdefault(node.cores, []).append(node.host)
        if len(of_kind) > 1:
            kinds = ', '.join('%s%s has %d core(s)'
                              % (','.join(names[:3]), ' and %d more'
                                 % (len(names) - 3) if len(names) > 3 else '', cores)
                              for cores, names in of_kind.items())
            die(2, 'the nodes differ: %s: take nodes of one kind, or give the number of ranks (--ranks %d)'
                % (kinds, self.n_nodes * self.cores))

    def all_ranks(self, n_nodes: int) -> int:
        """Ranks of a launch on so many nodes, one per allowed core."""
        if self.cores:
            return n_nodes * self.cores
        die(2, "number of allowed cores (say it with --ranks): '0' is not a positive whole number")

    def spread(self, name: str, ranks: str, n_nodes: int) -> Spread:
        """So many ranks on at most so many nodes, the same number on each."""
        n_ranks = whole(name, ranks)
        use = min(n_nodes, n_ranks)
        while n_ranks % use:
            use -= 1
        per_node = n_ranks // use
        if self.cores and per_node > self.cores:
            if n_nodes == 1:
                die(2, '%s: %d ranks on %d allowed cores would disturb each other: start at most %d'
                    % (name, n_ranks, self.cores, self.cores))
            die(2, '%s: %d ranks on %d nodes of %d allowed core(s) would be %d on each of %d, and disturb '
                'each other:'
                % (name, n_ranks, n_nodes, self.cores, per_node, use),
                'start at most %d, the same number on each node' % (self.cores * n_nodes))
        return Spread(use, per_node)

    def number_of(self, nodes: str) -> int:
        return self.n_nodes if nodes == ALL else len(names_of(nodes))

    def named(self, nodes: str, this_host: str) -> List[str]:
        """The names of a list; of - all that there are, here this machine."""
        if nodes != ALL:
            return names_of(nodes)
        return self.names if self.have_names() else [this_host]

    # ---- what a plan asks

    def find_sets(self) -> None:
        """Nodes, cores and sets for the plan. A job that is only submitted has none yet."""
        options, wanted = self.options, self.options['node_sets']
        self.sets = [ALL]
        accepted = wanted[len('accepted:'):] if wanted.startswith('accepted:') else ''
        if wanted.startswith('accepted:') and not os.access(accepted + '/verdict.json', os.R_OK):
            die(2, "--node-sets: '%s' has no verdict.json: it is no campaign of noiselab run acceptance, or "
                "has not ended" % accepted)
        if options['nodes']:
            whole('--nodes', options['nodes'])
        if options['submit']:
            self.n_nodes, self.cores = int(options['nodes'] or 1), 0
        else:
            self.find_cpus()
            if options['nodes']:
                self._take('--nodes', options['nodes'], 1)
            if wanted and not self.have_names():
                die(2, '--node-sets: needs a Slurm job with several nodes, or --hosts')
        if not wanted:
            return
        if wanted.startswith('accepted:'):
            if options['submit']:
                self.plan_later = 'the nodes are known in the job'
            else:
                self._take_accepted(accepted)
        elif re.search('[^0-9]', wanted):
            self._take_named(wanted)
        elif options['submit']:
            self.plan_later = 'the nodes are known in the job'
        else:
            self._take('--node-sets', wanted)
            left = self.n_nodes % int(wanted)
            if left:
                note('--node-sets %s: %d of the %d nodes are left over and not used'
                     % (wanted, left, self.n_nodes))

    def _take(self, name: str, number: str, most: int = 0) -> None:
        """Sets of so many nodes, as many as there are, or at most `most`; all nodes are -."""
        size = whole(name, number)
        if size > self.n_nodes:
            die(2, '%s: %d nodes asked for, and %s has %d' % (name, size, self.whose(), self.n_nodes))
        if name == '--nodes' and size == self.n_nodes:
            return
        n_sets = most or self.n_nodes // size
        self.sets = [','.join(self.names[i * size:(i + 1) * size]) for i in range(n_sets)]

    def _take_named(self, wanted: str) -> None:
        """The sets of --node-sets 'n1,n2;n3,n4'."""
        self.sets = [','.join(self.programs.node_names("--node-sets '%s'" % wanted, ['nodes', each]))
                     for each in wanted.split(';')]
        if not self.options['submit']:
            self.require_known('--node-sets', ','.join(self.sets))

    def _take_accepted(self, campaign: str) -> None:
        """The nodes but those that an acceptance campaign found worse; what is left out is said."""
        said = document.undamaged(campaign + '/verdict.json')
        if said is None:
            die(2, "--node-sets: '%s/verdict.json' names no nodes" % campaign)
        try:
            verdicts = dict(zip(said.all('nodes.*.host'), said.all('nodes.*.verdict')))
        except Stop as stop:
            put('noiselab-run: %s\n' % stop.message, 2)
            die(2, "--node-sets: '%s/verdict.json' names no nodes" % campaign)
        left_out = [name for name in self.names if verdicts.get(name) == 'fail']
        kept = [name for name in self.names if name not in left_out]
        unjudged = [name for name in self.names if not verdicts.get(name)]
        if not kept:
            die(2, "--node-sets: '%s' shows every node of %s as worse" % (campaign, self.whose()))
        note("--node-sets: left out, as worse in '%s': %s"
             % (campaign, ','.join(left_out) or 'no node of ' + self.whose()))
        if unjudged:
            note('--node-sets: these nodes were not judged there, and are used: ' + ','.join(unjudged))
        self.sets = [','.join(kept)]

    def require_known(self, name: str, nodes: str) -> None:
        """Refuses nodes that are not of this job, or of --hosts; - is all of them. No launcher is to look for
        them elsewhere."""
        if nodes == ALL:
            return
        if not self.have_names():
            die(2, '%s: runs on %s, nodes of a Slurm job, and this is none (without Slurm: --hosts)'
                % (name, nodes))
        for each in names_of(nodes):
            if each not in self.names:
                die(2, "%s: '%s' is not a node of %s (%s)" % (name, each, self.whose(), ','.join(self.names)))

    def require_fit(self, name: str, ranks: str) -> None:
        """Refuses a number of ranks for which there are no cores."""
        if self.cores:
            self.spread(name, ranks, self.number_of(self.sets[0]))
        else:
            whole(name, ranks)

    def ranks_column(self) -> str:
        """--ranks, the cores of this machine, or - where the nodes decide."""
        if self.options['ranks']:
            self.require_fit('--ranks', self.options['ranks'])
            return self.options['ranks']
        if self.options['submit']:
            return ALL
        if self.have_names():
            self.require_same_cores()
            return ALL
        return str(self.all_ranks(1))

    def list_of_ranks(self, first: int) -> List[str]:
        """--ranks as a list, or powers of two from `first` up to all cores."""
        if not self.options['ranks']:
            if self.options['submit']:
                die(2, '--ranks: give the numbers of ranks; the cores of the nodes are not known before the '
                    'job starts')
            self.require_same_cores()
            self.options['ranks'] = powers_of_two(first, self.all_ranks(self.n_nodes))
        ranks = self.options['ranks'].split(',')
        if '' in ranks:
            die(2, "--ranks: '%s' has an empty part (try 1,2)" % self.options['ranks'])
        for each in ranks:
            self.require_fit('--ranks', each)
        return ranks

    def on_each_set(self, words: Sequence[str]) -> List[str]:
        """Each of the words with each set of nodes, a blank between them."""
        return ['%s %s' % (word, nodes) for word in words for nodes in self.sets]

    def set_of_launches(self, turn: int, nodes: str) -> int:
        """Off and on are compared within a set of launches, and so on the same nodes: each set of nodes is a
        set of its own in every round."""
        return (turn - 1) * len(self.sets) + self.sets.index(nodes) + 1


def split(line: str) -> Tuple[str, str]:
    """A word, and the nodes behind it."""
    word, _, nodes = line.partition(' ')
    return word, nodes


"""How ranks are started, and what of a launch stays: mpirun on this machine or on --hosts, srun or mpirun
within a Slurm job."""
import os
import re
import select
import signal
import subprocess
import time
from math import gcd
from typing import Any, Dict, List, Optional, Sequence, Tuple

from noiselab_run import claims, files, slurm
from noiselab_run.nodes import ALL, Nodes, Spread, names_of
from noiselab_run.options import Options
from noiselab_run.process import NOTHING, Programs, ask_all, run, signals, start, status_of, terminate
from noiselab_run.text import die, first_line_with_letters, last_words, note, now, put, unquoted

# Open MPI refuses root unless told twice; on a machine of one's own, root is what people are
AS_ROOT = ('OMPI_ALLOW_RUN_AS_ROOT', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM', 'PRTE_ALLOW_RUN_AS_ROOT',
           'PRTE_ALLOW_RUN_AS_ROOT_CONFIRM')
# more ranks than cores, which then sleep where they wait
TURNS = {'OMPI_MCA_rmaps_base_oversubscribe': '1', 'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe',
         'OMPI_MCA_mpi_yield_when_idle': '1'}
# where Open MPI 4 and 5 put what ranks of a node share
BACKING = ('OMPI_MCA_btl_vader_backing_directory', 'OMPI_MCA_btl_sm_backing_directory')
# how long a program of the user's may take until MPI_Init
PROGRAM_STARTS_S = 60
SETTING = re.compile('((OMPI_MCA|PRTE_MCA|UCX)_[A-Za-z0-9_:.+-]*|SLURM_DISTRIBUTION)=[A-Za-z0-9_=:.+-]+')


def as_root() -> Dict[str, str]:
    return dict.fromkeys(AS_ROOT, '1') if os.geteuid() == 0 else {}


class Step:
    """One launch as its row of the schedule says it: where, and under what."""

    def __init__(self, name: str, nodes: str = ALL) -> None:
        self.name = name
        self.nodes = nodes
        self.program = 'noiselab-detect'
        self.is_ordered = False  # nodes is the order of the ranks
        self.noise_node = ''
        self.follows = ''  # the command of a program that runs in place of operations
        self.env = {}  # type: Dict[str, str]
        self.shape = Spread(1, 1)
        self.binding = ''  # empty: core, or what the user has set
        self.acctg_task_s = 0
        self.said_to = 2  # a descriptor for what the launcher and the ranks say
        self.status = 0
        self.took_s = 0
        self.went_on_s = 0  # of it, what a followed program took after the measurement

    def take_turns(self) -> None:
        self.binding = 'none'
        self.env.update(TURNS)

    def take_words(self, words: Sequence[str], schedule: str, nodes: Nodes) -> List[str]:
        """Takes what a row of the schedule says to the runner, ahead of the program's own words
        (docs/reference/formats.md); returns these."""
        for i, word in enumerate(words):
            key, _, value = word.partition('=')
            if word == '--program=accept':
                self.program = 'noiselab-accept'
            elif key == '--follow' and word != key:
                self.follows = value
            elif key == '--with' and word != key:
                # a variable that a library or a launcher reads, and plain
                if not SETTING.fullmatch(value):
                    die(2, "'%s': '%s' is not a setting of an MPI library" % (schedule, word))
                name, _, setting = value.partition('=')
                self.env[name] = setting
            elif key == '--rotate' and word != key:
                if not re.fullmatch('[0-9]+:[1-9][0-9]*', value):
                    die(2, "'%s': '%s' is not an order of nodes or the number of one" % (schedule, word))
                first, _, step = value.partition(':')
                self._turn(int(first), int(step), nodes)
            elif key == '--noise-node' and word != key:
                if not re.fullmatch('[1-9][0-9]*', value):
                    die(2, "'%s': '%s' is not an order of nodes or the number of one" % (schedule, word))
                names = nodes.named(self.nodes, claims.host())
                self.noise_node = names[(int(value) - 1) % len(names)]
            else:
                return list(words[i:])
        return []

    def _turn(self, first: int, step: int, nodes: Nodes) -> None:
        """Nodes in that order; a step that would not reach all nodes, of a plan for another number of them,
        is 1."""
        if (first, step) == (0, 1):
            return
        names = nodes.named(self.nodes, claims.host())
        n = len(names)
        if gcd(step, n) != 1:
            step = 1
        self.nodes = ','.join(names[(first + i * step) % n] for i in range(n))
        self.is_ordered = True


class Farewell:
    """What a launcher says, without the paragraphs in which Open MPI says that a rank ended with a status
    other than 0: the rank said why."""

    RULE = '----------------------'
    LEFT_OUT = re.compile('Primary job .*terminated normally, but|exited with non-zero status, thus causing',
                          re.DOTALL)

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = ''
        self._paragraph = []  # type: List[str]

    def _line(self, line: str) -> None:
        if not self._paragraph and not line.startswith(self.RULE):
            put(line, self._fd)
            return
        self._paragraph.append(line)
        # from one line of dashes to the next
        if len(self._paragraph) > 1 and line.startswith(self.RULE):
            self._tell()

    def _tell(self) -> None:
        text = ''.join(self._paragraph)
        self._paragraph = []
        if not self.LEFT_OUT.search(text):
            put(text, self._fd)

    def take(self, data: bytes) -> None:
        lines = (self._rest + os.fsdecode(data)).split('\n')
        self._rest = lines.pop()
        for line in lines:
            self._line(line + '\n')

    def end(self) -> None:
        """What was cut off."""
        if self._rest:
            self._line(self._rest)
        put(''.join(self._paragraph), self._fd)
        self._rest, self._paragraph = '', []


class Launcher:
    """Starts launches, one after the other. `kind` is srun or mpirun once one was chosen."""

    def __init__(self, programs: Programs, options: Options, nodes: Nodes, scratch: files.Scratch,
                 experiment: str) -> None:
        self.programs, self.options, self.nodes = programs, options, nodes
        self.scratch, self.experiment = scratch, experiment
        self.campaign = ''
        self.kind = ''
        self.mpirun = os.environ.get('NOISELAB_MPIRUN') or 'mpirun'
        self.flavour = ''  # of mpirun: openmpi, hydra (MPICH and its relatives) or unknown
        self.srun_mpi = ''
        self.binds = True
        self._running = None  # type: Optional[subprocess.Popen[bytes]]
        self._step = ''
        nodes.look = self._look_at_hosts

    # ---- which launcher

    def choose(self) -> None:
        if self.kind:
            return
        kind = self.options['launcher'] or os.environ.get('NOISELAB_LAUNCHER') or 'auto'
        if self.nodes.hosts:
            kind = 'mpirun'
        if kind == 'auto':
            if slurm.in_job() and not os.environ.get('NOISELAB_MPIRUN'):
                self.srun_mpi = slurm.find_srun_mpi(self.programs)
            kind = 'srun' if self.srun_mpi else 'mpirun'
        if kind == 'srun':
            if not slurm.in_job():
                die(2, '--launcher srun: this is not a Slurm job (try sbatch, salloc or --submit)')
            self.srun_mpi = self.srun_mpi or slurm.find_srun_mpi(self.programs)
            if not self.srun_mpi:
                die(2, '--launcher srun: this srun can start neither pmix nor pmi2 programs (srun '
                    '--mpi=list); try --launcher mpirun')
            self.binds = slurm.binds()
        elif kind == 'mpirun':
            if not files.in_path(self.mpirun):
                die(2, "'%s' is not in PATH: install an MPI library or set NOISELAB_MPIRUN" % self.mpirun)
            self._find_flavour()
        else:
            die(2, "--launcher: '%s' is not a launcher (try srun, mpirun, auto)" % kind)
        self.kind = kind

    def _find_flavour(self) -> None:
        said = '\n'.join(ask_all([self.mpirun, '--version'])[1].split('\n')[:3])
        if re.search('Open MPI|OpenRTE|PRRTE|prte', said):
            self.flavour = 'openmpi'
        elif re.search('HYDRA|MPICH|Intel', said):
            self.flavour = 'hydra'
        else:
            self.flavour = 'unknown'
            note('unknown mpirun: ranks are started without binding')

    # ---- the words of a launch

    def words(self, step: Step, command: List[str]) -> Tuple[List[str], Dict[str, str]]:
        """What starts the command on the nodes of a step, and its environment."""
        changes = dict(step.env)  # type: slurm.Changes
        if self.kind == 'srun':
            nodes = [] if step.nodes == ALL else names_of(step.nodes)
            words, more = slurm.step_words(self.srun_mpi, step.name, nodes, step.shape, step.is_ordered,
                                           self.scratch('hosts') if step.is_ordered else '', self.binds,
                                           self.nodes.cores, step.acctg_task_s, command)
            changes.update(more)
        else:
            if self.flavour == 'openmpi':
                changes.update(as_root())
            words = self._mpirun_words(step, command)
        return words, files.environment_with(changes)

    def _mpirun_words(self, step: Step, command: List[str]) -> List[str]:
        """Nodes - leaves the choice to mpirun, or is all of --hosts."""
        nodes = self.nodes.hosts or ALL if step.nodes == ALL else step.nodes
        n_nodes, per_node = step.shape
        total = str(n_nodes * per_node)
        if self.flavour != 'openmpi':
            where = [] if self.flavour == 'unknown' else ['-bind-to', step.binding or 'core']
            if self.nodes.n_nodes > 1:
                where += ['-ppn', str(per_node)]
            return [self.mpirun, '-n', total] + where + ([] if nodes == ALL else ['-hosts', nodes]) + command
        # what the user has set for Open MPI 4 or 5 holds: its core may be one that the nodes' own limits do
        # not allow
        env = files.environment_with(dict(step.env))
        binding = (step.binding or env.get('OMPI_MCA_hwloc_base_binding_policy')
                   or env.get('PRTE_MCA_hwloc_default_binding_policy')
                   or 'core')
        # of one list of hosts it makes an order of its own (the one it runs on first, or that of the Slurm
        # job); contexts, one for each node, are numbered as they stand
        if nodes != ALL:
            contexts = []  # type: List[str]
            for node in names_of(nodes)[:n_nodes]:
                contexts += ([':'] if contexts else []) + ['-n', str(per_node), '--host', '%s:%d'
                                                           % (node, per_node)] + command
            return [self.mpirun, '--map-by', 'slot', '--bind-to', binding] + contexts
        mapping = 'slot' if binding == 'none' else 'core'
        if self.nodes.n_nodes > 1:
            mapping = 'ppr:%d:node' % per_node
        # a launch may say by its variables where ranks go
        is_mapped = any(name.endswith('_mapping_policy') for name in step.env if name not in TURNS)
        return [self.mpirun, '-n', total, '--bind-to',
                binding] + ([] if is_mapped else ['--map-by', mapping]) + command

    def owned(self, words: List[str], token: str = '-') -> List[str]:
        """The words, as a process that ends with this one, however that ends."""
        return [self.programs.helper, 'owned', str(os.getpid()), token] + words

    def _look_at_hosts(self) -> str:
        """One line "host cores cpus" for each of --hosts, and what launchers add."""
        self.choose()
        step = Step('look')
        self.nodes.n_nodes = len(self.nodes.names)
        step.shape, step.binding = Spread(self.nodes.n_nodes, 1), 'none'
        words, env = self.words(step, [self.programs.path('noiselab-gen'), '--list', 'cpus'])
        status, look = ask_all(words, env)
        if status:
            die(2, "--hosts: '%s' cannot start a program on %s: %s"
                % (self.mpirun, self.nodes.hosts, first_line_with_letters(look)))
        return look

    # ---- nodes that do not answer any more

    def lost_nodes(self) -> List[str]:
        if slurm.in_job():
            return slurm.lost_nodes()
        return self._silent_hosts() if self.nodes.hosts else []

    def _silent_hosts(self) -> List[str]:
        """Those of --hosts on which mpirun starts no program within 15 s; all are asked at once."""
        asked = []  # type: List[Tuple[str, subprocess.Popen[bytes]]]
        for host in self.nodes.names:
            step = Step('look', host)
            step.binding = 'none'
            words, env = self.words(step, [self.programs.path('noiselab-gen'), '--list', 'cpus'])
            asked.append((host, start(words, NOTHING, NOTHING, NOTHING, env)))
        until = time.time() + 15
        silent = []  # type: List[str]
        for host, child in asked:
            try:
                child.wait(max(0.01, until - time.time()))
            except subprocess.TimeoutExpired:
                terminate(child)
                child.wait()
            if child.returncode:
                silent.append(host)
        return silent

    # ---- what ranks on this host share

    def _shared_memory(self) -> str:
        """A folder of this process for what ranks on this host share: killed ones leave it behind, and it
        goes with the folder. Empty where ranks run elsewhere, too, or the user has chosen. Those of runs that
        were killed go now."""
        number = re.sub('[^0-9]', '', claims.space())
        begin = 'noiselab.%d.%s.' % (os.geteuid(), number)
        for name in files.entries('/dev/shm'):
            # .PID.START
            pid, _, began = name[len(begin):].partition('.')
            if name.startswith(begin) and is_ours('/dev/shm/' + name) and claims.is_process_gone(pid, began):
                files.remove_tree('/dev/shm/' + name)
        if self.nodes.n_nodes != 1 or self.nodes.hosts or self.kind != 'mpirun':
            return ''
        if any(os.environ.get(name) for name in BACKING):
            return ''
        folder = '/dev/shm/%s%d.%s' % (begin, os.getpid(), claims.process_start(str(os.getpid())))
        try:
            os.mkdir(folder, 0o700)
        except OSError:
            return ''
        return folder

    def _end_session(self, token: str, pid: int, shared: str) -> None:
        """Of what mpirun and its ranks were, nothing runs and nothing stays on this host; what cannot be
        ended does not stop us."""
        if run([self.programs.helper, 'end', token, str(pid)]):
            note('going on beside them would disturb the measurement')
        host, user = claims.host(), os.geteuid()
        temporary = os.environ.get('TMPDIR') or '/tmp'
        # Open MPI 4 and 5, with and without the domain
        for name in {host, host.split('.')[0]}:
            for above, below in (('ompi.%s.%d' % (name, user), 'pid.%d' % pid),
                                 ('prte.%s.%d' % (name, user), 'dvm.%d' % pid)):
                above = temporary + '/' + above
                if is_ours(above) and is_ours(above + '/' + below):
                    files.remove_tree(above + '/' + below)
                    try:
                        os.rmdir(above)
                    except OSError:
                        pass
        if shared:
            files.remove_tree(shared)

    def _token(self, name: str) -> str:
        """By which the processes of a launch of this campaign are known."""
        if os.path.isdir(self.campaign):
            return os.path.realpath(self.campaign) + '/' + name
        return '%d-%s/%s' % (os.getpid(), claims.process_start(str(os.getpid())), name)

    # ---- a launch

    def stop_launch(self) -> None:
        """On a signal: the ranks are told to end."""
        child = self._running
        if child is None:
            return
        # srun answers a TERM by killing the ranks, which then could not end their files: the ranks are told
        # themselves
        if self.kind == 'srun' and slurm.signal_step(self._step):
            return
        terminate(child)

    def launch(self, step: Step, ranks: str, words: List[str]) -> None:
        """Runs the step's program, so many ranks or one per core (-); sets its status, took_s and shape.
        Needs choose(), find_cpus() and signals.catch()."""
        began = now()
        n_nodes = self.nodes.number_of(step.nodes)
        token = self._token(step.name)
        shared = self._shared_memory()
        followed = None  # type: Optional[Followed]
        if step.follows:
            followed = Followed(self, step, token)
            try:
                step.shape = Spread(1, followed.wait_for_ranks())
            except LaunchFailed:
                files.remove_tree(shared)
                raise
            # they sleep where the program's ranks are, and do not spin beside them
            words = words + ['--app', followed.folder, '--oversubscribe']
            step.take_turns()
        else:
            if ranks == ALL:
                self.nodes.require_same_cores()
                ranks = str(self.nodes.all_ranks(n_nodes))
            step.shape = self.nodes.spread(step.name, ranks, n_nodes)
        if step.program == 'noiselab-detect':
            words = self.programs.handed_on(words, self.experiment)
        command, env = self.words(step, [self.programs.path(step.program)] + words)
        if shared:
            env.update(dict.fromkeys(BACKING, shared))
        pid = self._run(step, self.owned(command, token), env, token)
        if followed is not None:
            measured_s = now()
            followed.end(step.status)
            step.went_on_s = now() - measured_s
        self._end_session(token, pid, shared)
        step.took_s = now() - began

    def _run(self, step: Step, words: List[str], env: Dict[str, str], token: str) -> int:
        """Until it has ended, or was ended; its process number."""
        hears = (self.kind, self.flavour) == ('mpirun', 'openmpi')
        said, says = os.pipe() if hears else (-1, step.said_to)
        woken, wakes = os.pipe()
        for fd in (woken, wakes):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        before = signal.set_wakeup_fd(wakes)
        farewell = Farewell(step.said_to)
        # the ranks read nothing: what is on our own input is not theirs
        child = start(words, NOTHING, NOTHING, says, env)
        if hears:
            os.close(says)
        self._running, self._step = child, step.name
        signals.stop = self.stop_launch
        # a signal may have come between the last look and now
        if signals.interrupted:
            self.stop_launch()
        ender = None  # type: Optional[subprocess.Popen[bytes]]
        fds = [woken] + ([said] if hears else [])

        def listen(seconds: Optional[float]) -> None:
            for fd in select.select(fds, [], [], seconds)[0]:
                data = os.read(fd, 65536)
                if fd == said and data:
                    farewell.take(data)
                elif fd == said:
                    fds.remove(said)

        while child.poll() is None:
            # srun ends its ranks by itself, and at a second signal before they have ended their files
            if signals.interrupted and self.kind != 'srun' and ender is None:
                ender = start([self.programs.helper, 'end', token, str(child.pid)], NOTHING, NOTHING, NOTHING)
            if ender is not None and ender.poll() not in (None, 0):
                break
            listen(None)
        self._running = None
        signals.stop = None
        step.status = status_of(child.returncode) if child.returncode is not None else 130
        # until all is said, but not for what somebody left behind holds open
        until = time.time() + 2
        while said in fds and time.time() < until:
            listen(max(0.0, until - time.time()))
        farewell.end()
        if ender is not None:
            ender.wait()
        signal.set_wakeup_fd(before)
        for fd in (woken, wakes) + ((said,) if hears else ()):
            os.close(fd)
        return child.pid


def is_ours(folder: str) -> bool:
    """It is one, and belongs to this user; another run may remove it at this moment."""
    try:
        return os.path.isdir(folder) and not os.path.islink(folder) and files.owner_of(folder) == os.geteuid()
    except OSError:
        return False


class LaunchFailed(Exception):
    """A launch that cannot begin; what is there stays."""


class Followed:
    """A program of the user's in place of the detector's operations (--app -- COMMAND): started before the
    detector, which follows its ranks, and waited for."""

    def __init__(self, launcher: Launcher, step: Step, token: str) -> None:
        self.launcher = launcher
        profiles = launcher.campaign + '/profiles'
        self.folder = profiles + '/' + step.name
        self.token = token + '.program'
        try:
            os.makedirs(profiles, exist_ok=True)
        except OSError:
            die(2, "cannot make '%s' (not allowed, or no space left?)" % profiles)
        run([launcher.programs.helper, 'end', self.token])
        # of an attempt that was not completed
        files.remove_tree(self.folder)
        self.child = start_profiled(launcher, profiles, step.name, self.token, step.follows)

    def _ranks(self) -> int:
        """Ranks on this node, by the head of the first one's file (detector/profile/profile_file.h), whose
        first word comes last; 0: not yet."""
        try:
            with open(self.folder + '/rank.0.profile', 'rb') as file:
                head = file.read(24)
        except OSError:
            return 0
        return int.from_bytes(head[20:24], 'little',
                              signed=True) if head[:6] == b'NLPROF' and len(head) == 24 else 0

    def wait_for_ranks(self) -> int:
        until = now() + PROGRAM_STARTS_S
        while not signals.interrupted:
            n_ranks = self._ranks()
            if n_ranks:
                return n_ranks
            if self.child.poll() is not None or now() >= until:
                self._end()
                raise LaunchFailed('the program did not come to MPI_Init, or ended at once' + self._said())
            time.sleep(0.2)
        return 1

    def _said(self) -> str:
        """Its last line, for messages."""
        line = last_words(files.read_or(self.folder + '.log'))
        return ' (its last words: %s; all: %s.log)' % (line, self.folder) if line else ''

    def end(self, status: int) -> None:
        """It is the user's own, and goes on to its end, unless nothing was measured or somebody asked to
        stop."""
        if status == 0 and not signals.interrupted:
            if self.child.poll() is None:
                note('measuring has ended; the program runs on to its end')
            while not signals.interrupted:
                try:
                    self.child.wait(1)
                    break
                except subprocess.TimeoutExpired:
                    pass
            if not signals.interrupted and self.child.returncode:
                note('the program ended with status %d%s' % (status_of(self.child.returncode), self._said()))
        self._end()

    def _end(self) -> None:
        terminate(self.child)
        run([self.launcher.programs.helper, 'end', self.token, str(self.child.pid)])


def start_profiled(launcher: Launcher, folder: str, name: str, token: str, command: str,
                   env: Optional[Dict[str, str]] = None) -> Any:
    """The program whose quoted words these are, under the profile, in the background; what it says is in
    FOLDER/NAME.log."""
    words = [launcher.programs.path('noiselab-profile'), '--no-answer', '--out', folder, '--launch-id', name,
             '--'] + unquoted(command)
    env = dict(env if env is not None else os.environ)
    env.update(as_root())
    with open('%s/%s.log' % (folder, name), 'wb') as log:
        return start(launcher.owned(words, token), NOTHING, log, subprocess.STDOUT, env)


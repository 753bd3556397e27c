"""Within a Slurm job: steps, nodes, CPUs and the time that is left. Slurm 22.05 and later."""
import os
import re
from typing import Dict, List, Optional, Tuple

from noiselab_run import files
from noiselab_run.process import Programs, ask, ask_all, said_by, signals
from noiselab_run.text import Stop, die, first_line, note, now

# of the job, and not of a step; a third way to say CPUs per task (since 24.05) that differs from the first is
# fatal to srun
OF_THE_JOB = ('SLURM_EXPORT_ENV', 'SLURM_CPUS_PER_TASK', 'SLURM_TRES_PER_TASK', 'SLURM_NTASKS',
              'SLURM_NPROCS', 'SLURM_NTASKS_PER_NODE')

Changes = Dict[str, Optional[str]]


def job() -> str:
    """The number of this job; empty outside of one."""
    return os.environ.get('SLURM_JOB_ID', '')


def in_job() -> bool:
    return job() != '' and files.in_path('srun')


def n_job_nodes() -> str:
    return os.environ.get('SLURM_JOB_NUM_NODES') or os.environ.get('SLURM_NNODES') or '1'


def say_het_job() -> None:
    """Of a heterogeneous job one component is used, and nobody should think it were all."""
    size = os.environ.get('SLURM_HET_SIZE') or '1'
    if in_job() and size.isdigit() and int(size) > 1:
        note('this is a heterogeneous job of %s components: only this one is measured (job %s, %s node(s));'
             % (size, job(), n_job_nodes()),
             'the others want a job of their own')


def find_srun_mpi(programs: Programs) -> str:
    """What srun --mpi= has to be for the detector's MPI library; NOISELAB_SRUN_MPI says it where this guesses
    wrong. Empty: nothing fits."""
    if os.environ.get('NOISELAB_SRUN_MPI'):
        return os.environ['NOISELAB_SRUN_MPI']
    # MPICH built without PMIx speaks PMI-2; its library is named so by Debian, and libmpi.so.12 by itself
    libraries = said_by('ldd', programs.path('noiselab-detect'))
    wanted = ('pmi2', 'pmix') if 'libmpich.so' in libraries or 'libmpi.so.12' in libraries else ('pmix',
                                                                                                 'pmi2')
    # by whole words: "specific pmix plugin versions available: pmix_v4"
    known = re.split("[\n\t ,:']+", ask_all(['srun', '--mpi=list'])[1])
    return next((name for name in wanted if name in known), '')


def cpus(programs: Programs) -> str:
    """One line "host cores cpus" for each node of the job, of the CPUs that a step of this job may use there:
    no more than the job's, and without those that are kept for the system (core specialisation)."""
    # these would narrow the look, clash with --cpu-bind, or keep our environment from the nodes (of a job
    # with --export=NONE)
    changes = dict.fromkeys(OF_THE_JOB + ('SRUN_CPUS_PER_TASK', 'SLURM_HINT',
                                          'SLURM_CPU_BIND'))  # type: Changes
    n = n_job_nodes()
    status, look = ask_all(['srun', '--overlap', '--nodes=' + n, '--ntasks=' + n, '--ntasks-per-node=1',
                            '--cpu-bind=none', '--mpi=none',
                            '--job-name=noiselab-look', '--kill-on-bad-exit=1', programs.path('noiselab-gen'),
                            '--list', 'cpus'],
                           env=files.environment_with(changes))
    if status:
        reason = first_line(look)
        die(2, 'the nodes of job %s do not answer: %s'
            % (job(), reason[len('srun: '):] if reason.startswith('srun: ') else reason))
    return look


def configured(key: str) -> str:
    """A value of this cluster's configuration; empty where nothing answers, or nothing is set."""
    found = re.search('^%s *= *(.*)$' % key, said_by('scontrol', 'show', 'config'), re.MULTILINE)
    value = found.group(1) if found else ''
    return '' if value in ('(null)', 'none') else value


def binds() -> bool:
    """Whether this cluster can bind ranks to cores; where it cannot, srun would say so again for each launch.
    """
    if configured('TaskPlugin') not in ('', 'task/none'):
        return True
    note('this cluster does not bind ranks to CPUs (TaskPlugin): they may migrate')
    return False


def cpus_per_core(cores: int) -> int:
    """How many of Slurm's CPUs a core is: its hardware threads, or one, as the cluster is set up."""
    # where Slurm leaves hardware threads idle it counts cores
    hint = os.environ.get('SLURM_HINT', '')
    if 'nomultithread' in hint or 'compute_bound' in hint or os.environ.get('SLURM_THREADS_PER_CORE') == '1':
        return 1
    # such as 64(x2),16: the fewest, as the cores are
    counts = [int(found) for found in re.findall('(?:^|,)([0-9]+)',
                                                 os.environ.get('SLURM_JOB_CPUS_PER_NODE', '1'))]
    return max(1, min(counts) // cores) if cores > 0 and counts else 1


def step_words(srun_mpi: str, name: str, nodes: List[str], shape: Tuple[int, int], is_ordered: bool,
               hosts_file: str, binds_ranks: bool,
               cores: int, acctg_task_s: int, command: List[str]) -> Tuple[List[str], Changes]:
    """The words of srun for one step, and its environment. nodes: those it runs on, none: all of the job;
    shape: how many of them, and ranks on each; acctg_task_s: Slurm looks at every process at this interval
    (0: never)."""
    n_nodes, per_node = shape
    changes = dict.fromkeys(OF_THE_JOB)  # type: Changes
    if is_ordered:
        # srun sorts --nodelist: the ranks' nodes, one for each, are in a file
        files.write(hosts_file, ''.join((node + '\n') * per_node for node in nodes[:n_nodes]))
        changes['SLURM_HOSTFILE'] = hosts_file
        where = ['--distribution=arbitrary']
    else:
        where = ['--ntasks-per-node=%d' % per_node] + (['--nodelist=' + ','.join(nodes)] if nodes else [])
    # one of --hint and --cpu-bind: they cannot be combined, and a --hint of the job is in the environment
    if os.environ.get('SLURM_HINT'):
        changes['SLURM_CPU_BIND'] = None
    elif binds_ranks:
        where.insert(0, '--cpu-bind=cores')
    # since 22.05 srun does not take over the job's --cpus-per-task, and ranks that share a core would disturb
    # each other
    changes['SRUN_CPUS_PER_TASK'] = str(cpus_per_core(cores))
    # Slurm looks at every process at this interval, which is noise; srun reads the first variable, and the
    # second one reaches the detector, which records it
    changes['SLURM_ACCTG_FREQ'] = changes['NOISELAB_ACCTG_FREQ'] = 'task=%d' % acctg_task_s
    # in a shell that is a step itself (srun --pty) all CPUs are that step's
    if os.environ.get('SLURM_STEP_ID'):
        where.insert(0, '--overlap')
    return (['srun', '--mpi=' + srun_mpi, '--nodes=%d' % n_nodes, '--ntasks=%d' % (n_nodes * per_node),
             '--job-name=' + name,
             '--kill-on-bad-exit=1'] + where + command, changes)


def on_first_node(first: str, command: List[str]) -> List[str]:
    """The command, on the first node of the job."""
    return ['srun', '--overlap', '--nodes=1', '--ntasks=1', '--nodelist=' + first, '--cpu-bind=none',
            '--mpi=none',
            '--job-name=noiselab-record'] + command


def signal_step(name: str) -> bool:
    """A TERM for each rank of that step of this job; False when there is no such step (yet)."""
    for line in said_by('squeue', '--noheader', '--steps', '--jobs=' + job(), '--format=%i %j').split('\n'):
        step, _, called = line.strip().partition(' ')
        if called == name:
            return ask(['scancel', '--signal=TERM', step]).status == 0
    return False


def lost_nodes() -> List[str]:
    """Nodes that Slurm has lost."""
    lost = []  # type: List[str]
    for line in said_by('sinfo', '--noheader', '--Node', '--nodes='
                        + os.environ.get('SLURM_JOB_NODELIST', ''), '--format=%n %T').split('\n'):
        node, _, state = line.strip().partition(' ')
        if (state.endswith('*') or 'down' in state or 'fail' in state) and node not in lost:
            lost.append(node)
    return lost


# ---- time

def seconds(text: str) -> Optional[int]:
    """Slurm's days-hours:minutes:seconds, or minutes, in seconds; nothing for UNLIMITED and the like."""
    if not re.fullmatch('[0-9]+(-[0-9]+)?(:[0-9]+)*', text):
        return None
    days, has_days, rest = text.partition('-') if '-' in text else ('0', '', text)
    part = [int(each) for each in rest.split(':')]
    # without days a single number, or the first of two, are minutes
    if not has_days and len(part) < 3:
        part = [0] + part
    hours, minutes, rest_s = (part + [0, 0])[:3]
    return int(days) * 86400 + hours * 3600 + minutes * 60 + rest_s


def time(n_seconds: int) -> str:
    """As --time takes it, in whole minutes."""
    return '%d:%02d:00' % ((n_seconds + 59) // 3600, (n_seconds + 59) % 3600 // 60)


def ends_at() -> Optional[int]:
    """When the job's time is over, in seconds since 1970; nothing without a limit."""
    if not in_job():
        return None
    end = os.environ.get('SLURM_JOB_END_TIME', '')
    if re.fullmatch('[0-9]+', end):
        return int(end)
    left = seconds(said_by('squeue', '--noheader', '--jobs=' + job(), '--format=%L').strip().split(' ')[0])
    return None if left is None else now() + left


def back_into_queue(campaign: str, how_to_go_on: str) -> None:
    """This job waits again and then goes on where it was."""
    number = job()
    if os.environ.get('SLURM_ARRAY_TASK_ID'):
        number = '%s_%s' % (os.environ.get('SLURM_ARRAY_JOB_ID', ''), os.environ['SLURM_ARRAY_TASK_ID'])
    # that ends this job with a TERM
    signals.ignore()
    status, reason = ask_all(['scontrol', 'requeue', number])
    if status:
        die(2, '--requeue: %s; %s' % (first_line(reason), how_to_go_on))
    note("job %s is requeued and continues '%s'" % (number, campaign))
    raise Stop(2)

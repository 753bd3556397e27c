"""What noiselab doctor asks: whether the launcher and the MPI library fit each other."""
from noiselab_run import files
from noiselab_run.launch import Launcher, Step
from noiselab_run.nodes import Nodes
from noiselab_run.options import Options
from noiselab_run.process import Programs, signals


def try_launch(programs: Programs, folder: str) -> int:
    """Starts two ranks as an experiment would, which compare their clocks; the status is theirs. The folder
    is for what they write."""
    options, scratch = Options('doctor', ''), files.Scratch()
    nodes = Nodes(programs, options)
    launcher = Launcher(programs, options, nodes, scratch, 'doctor')
    launcher.campaign = folder
    try:
        launcher.choose()
        nodes.find_cpus()
        signals.catch()
        step = Step('noiselab-doctor')
        launcher.launch(step, '2' if nodes.cores >= 2 else '1', ['--sync-only', '--out', folder])
        return step.status
    finally:
        scratch.remove()

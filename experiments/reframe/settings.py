"""Site configuration for the noiselab checks: a template. Names, partitions and modules are yours to change
(README.md)."""

site_configuration = {
    'systems': [
        {
            'name': 'cluster',
            'descr': 'a cluster with Slurm',
            # chosen on hosts whose name matches, or by --system=cluster
            'hostnames': ['login.*'],
            'partitions': [
                {
                    'name': 'main',
                    # squeue needs no accounting database; where sacct works, `slurm` sees more
                    'scheduler': 'squeue',
                    'launcher': 'srun',
                    # whole nodes with all their memory, and no accounting sampler beside the ranks
                    'access': ['--partition=main', '--mem=0', '--acctg-freq=task=0'],
                    'environs': ['default'],
                    # what the job loads, such as ['openmpi/5.0']
                    'modules': [],
                    'max_jobs': 1,
                },
            ],
        },
        {
            'name': 'here',
            'descr': 'this machine, without Slurm',
            'hostnames': ['.*'],
            # checks that ran side by side would measure each other
            'max_local_jobs': 1,
            'partitions': [
                {
                    'name': 'cores',
                    'scheduler': 'local',
                    'launcher': 'mpirun',
                    'environs': ['default'],
                    'max_jobs': 1,
                },
            ],
        },
    ],
    'environments': [{'name': 'default'}],
}

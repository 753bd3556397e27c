#!/bin/sh
# batch.sh EXPERIMENT: its batch script, with the question, #SBATCH lines and parameters (variables that are
# options of the same name) of EXPERIMENT.sbatch
set -eu
file=$(dirname "$0")/../$1.sbatch
cat <<EOT
#!/bin/bash
$(grep '^# ' "$file")
# Three ways to run it: sbatch $1.sbatch; bash $1.sbatch within an allocation (salloc);
# bash $1.sbatch on one machine without Slurm.
# shellcheck disable=SC2034 # parameters are read by name
#SBATCH --job-name=noiselab-$1
$(grep '^#SBATCH ' "$file")
# the nodes alone, with all of their memory: other jobs are noise
#SBATCH --exclusive
#SBATCH --mem=0
# a minute before the time is over the launch that runs is ended, so that its rows are complete
#SBATCH --signal=B:TERM@60
# when a node fails the job runs again, and goes on where it was
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=noiselab-$1-%j.out
# --- parameters --- (a campaign that has a schedule goes on as it was planned, whatever these say)
noiselab=noiselab  # the program: a path, or a name in PATH
campaign=noiselab-$1-\${SLURM_JOB_ID:-\$(date -u +%Y%m%dT%H%M%SZ)}  # folder of the results, on a file system that all nodes see
$(grep '^[a-z]' "$file")
seed=  # seed of all random orders; empty: from the clock
job_options=()  # how it runs: --requeue (when the time is over, wait again and go on), --launcher mpirun, --no-report
# --- end of parameters ---

if [ -e "\$campaign/schedule.tsv" ]; then
    # begun by --submit, or by this job before it was put back into the queue; of an array each task runs one launch, or the launches of one set
    exec "\$noiselab" run $1 --resume "\$campaign" \${SLURM_ARRAY_TASK_ID:+--only "\$SLURM_ARRAY_TASK_ID"} "\${job_options[@]}"
fi
for name in $(sed -n 's/^\([a-z_]*\)=.*/\1/p' "$file" | grep -v 'options$' | paste -sd ' ' -) seed; do
    # what is empty has the program's default
    [ -z "\${!name}" ] || options+=("--\${name//_/-}" "\${!name}")
done
exec "\$noiselab" run $1 --out "\$campaign" "\${options[@]}" "\${job_options[@]}"
EOT

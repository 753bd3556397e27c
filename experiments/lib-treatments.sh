# Treatments from outside, which a launch as a whole is under. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# find_arm WORDS: sets arm and external, the treatment from outside, of a launch (--arms on:external=NAME,...); empty without
find_arm() {
    arm='' external=''
    while [ $# -gt 1 ]; do
        [ "$1" != --arms ] || arm=$2
        shift
    done
    case $arm in *external=*) external=${arm#*external=} ;; esac
    external=${external%%,*} arm=${arm%%:*}
}

# under_treatment WORDS: the next launch is under the treatment from outside that its words name, or not, by its arm
under_treatment() {
    find_arm "$@"
    [ -n "$external" ] || return 0
    known_treatment "$external"
    acctg_task_s=0 # read by run_srun
    [ "$arm" = off ] || acctg_task_s=${interval_s:-1}
}

# known_treatment NAME: Slurm's sampling, an option of each step (--acctg-freq), is the only one
known_treatment() { [ "$1" = slurm-accounting ] || die 2 "--treatment: '$1' is not a treatment (try slurm-accounting)"; }

# need_treatment NAME: refuses what is none, or cannot be here
need_treatment() {
    known_treatment "$1"
    command -v srun >/dev/null || die 2 'slurm-accounting: there is no Slurm here (srun is not in PATH): run it within a Slurm job, or with --submit'
    [ -n "${submit-}" ] && return
    [ -n "${SLURM_JOB_ID-}" ] || die 2 'slurm-accounting: this is not a Slurm job: run it within one (sbatch, salloc), or with --submit'
    choose_launcher
    [ "$starts_with" = srun ] || die 2 "slurm-accounting: only srun can switch it: leave --launcher $starts_with out"
    case $(scontrol show config 2>/dev/null | sed -n 's/^JobAcctGatherType *= *//p') in
    '' | '(null)' | none | jobacct_gather/none)
        die 2 'slurm-accounting: this cluster gathers nothing (JobAcctGatherType is none), so there is nothing to switch'
        ;;
    esac
}

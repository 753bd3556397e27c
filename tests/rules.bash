# Rules of Open MPI, one for each collective that has a size in them, for 4 ranks and 1024 bytes, and whether
# they act: by the algorithm that runs, not by time. A caller has BUILD.

# of each one that the library does not choose by itself at this size, by its numbers (of allgatherv 4.1 lets
# nobody choose one while a program runs)
ruled=(allgather=ring allreduce=nonoverlapping alltoall=pairwise barrier=double_ring bcast=pipeline \
    gather=linear_sync
    reduce=pipeline reduce_scatter=ring reduce_scatter_block=butterfly scatter=linear_nb)
# what has no size gets none
unruled=(alltoallv=pairwise scan=recursive_doubling exscan=recursive_doubling)

# write_rules FILE [HAN]: HAN: of the component han, TRUE
write_rules() {
    NOISELAB_R_LIB=$BUILD/lib/noiselab/R Rscript \
        -e '.libPaths(c(Sys.getenv("NOISELAB_R_LIB"), .libPaths()))' \
        -e 'cat(noiselab:::advise_rules(data.frame(
        operation = c("allgather", "allgatherv", "allreduce", "alltoall", "bcast", "gather",
            "reduce", "reduce_scatter", "reduce_scatter_block", "scatter",
                      "alltoallv", "scan", "exscan", "barrier"),
        bytes = c(rep(1024, 13), 0), ranks = 4, condition = "quiet",
        number = c(4L, 2L, 2L, 2L, 3L, 3L, 3L, 3L, 4L, 3L, 2L, 2L, 2L, 2L),
        verdict = "use"), han = as.logical(commandArgs(TRUE))), sep = "\n")' "${2-FALSE}" >"$1"
}

# rule_words BYTES...: for noiselab-rules, each at these sizes; what has no rule, or no size, at 1024
rule_words() {
    local word bytes
    for word in "${ruled[@]}" "${unruled[@]}"; do
        for bytes; do
            case $bytes:$word in 1024:*) ;; *:barrier=* | *:alltoallv=* | *scan=*) continue ;; esac
            echo "$word:$bytes"
        done
    done
}

# acts FILE OPERATION NODES: "operation bytes ranks wanted ran nodes": what is forced by 4 ranks runs by
# default there, and at no other size
acts() {
    awk -v op="$2" -v nodes="$3" '
        $1 != op || $3 != 4 || $6 != nodes { next }
        $4 != "default" { forced = $5; next }
        $2 == 1024 || op == "barrier" { at[$5]; next }
        { beside[$5] }
        END { exit !(forced in at) || forced in beside }' "$1"
}

# rules_act FILE NODES
rules_act() {
    local word
    for word in "${ruled[@]}"; do
        acts "$1" "${word%%=*}" "$2" || { echo "$word"; return 1; }
    done
    for word in "${unruled[@]}"; do
        ! acts "$1" "${word%%=*}" "$2" || { echo "$word"; return 1; }
    done
}

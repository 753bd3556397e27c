# Reading what noiselab profile wrote of one run of a program (docs/reference/formats.md, "noiselab-profile").

profile_operation_rules <- rules_of(
  list("launch", "text"), list("rank", "whole", 0), list("operation", "text"), list("class", "text"), list("bytes_lo", "number", 0),
  list("communicator", "blank"), list("ranks", "whole", 0), list("root", "blank"), list("calls", "whole", 0), list("bytes", "number", 0),
  list("inside_ns", "number", 0), list("longest_ns", "number", 0), list("outside_ns", "number", 0)
)
profile_rank_rules <- rules_of(
  list("launch", "text"), list("rank", "whole", 0), list("host", "label"), list("node", "whole", 0), list("threads", "text"),
  list("state", "text"),
  list("clock", "text"), list("clock_bound_ns", "number", 0), list("started_ns", "number"), list("wall_ns", "number", 0),
  list("calls", "whole", 0),
  list("mpi_ns", "number", 0), list("lost_calls", "whole", 0), list("sampled_calls", "whole", 0), list("sample_cost_ns", "number", 0),
  list("waits", "text")
)
profile_arrival_rules <- rules_of(
  list("launch", "text"), list("communicator", "text"), list("ranks", "whole", 0), list("call", "whole", 1), list("operation", "text"),
  list("rank", "whole", 0), list("node", "whole", 0), list("since_ns", "number"), list("arrived_ns", "number"), list("left_ns", "number"),
  list("preempted_ns", "number"), list("off_cpu_ns", "number", 0), list("slept", "whole", 0), list("mpi_ns", "number", 0)
)

# The last run of a campaign, or one run. A list: info, operations, ranks, arrivals (data.tables), notes.
read_profile <- function(dir) {
  launches <- sort(find_launches(dir, program = "noiselab-profile"))
  if (length(launches) == 0) abort_data("'", dir, "' has no run of noiselab profile")
  launch <- launches[length(launches)]
  info <- read_json_head(file.path(launch, "launch.json"))
  file <- file.path(launch, "ranks.csv")
  if (!file.exists(file)) {
    if (length(Sys.glob(file.path(launch, "rank.*.profile"))) > 0) {
      abort_data("'", launch, "' has no tables yet: it still runs, or make them: noiselab profile --tables ", launch)
    }
    abort_data("'", launch, "': no rank of this run was profiled")
  }
  read <- function(name, rules) {
    got <- read_contract_csv(file.path(launch, name), rules, info)
    c(got["data"], list(notes = got$notes))
  }
  parts <- list(operations = read("operations.csv", profile_operation_rules), ranks = read("ranks.csv", profile_rank_rules),
                arrivals = read("arrivals.csv", profile_arrival_rules))
  c(list(info = info, dir = launch), lapply(parts, `[[`, "data"),
    list(notes = c(if (length(launches) > 1) sprintf("the last of %s", counted(length(launches), "run")),
                   profile_notes(info, parts$ranks$data),
                   unlist(lapply(parts, `[[`, "notes"), use.names = FALSE))))
}

profile_notes <- function(info, ranks) {
  lost <- sum(ranks[["lost_calls"]])
  cost <- 100 * max(ranks[["sampled_calls"]] * ranks[["sample_cost_ns"]] / pmax(1, ranks[["wall_ns"]]))
  c(if (any(ranks[["state"]] != "finalized")) {
      sprintf("%s did not come to MPI_Finalize: clocks of several nodes are those of the start",
              counted(sum(ranks[["state"]] != "finalized"), "rank"))
    },
    if (isTRUE(info$ranks > nrow(ranks))) sprintf("%d of %d ranks were profiled", nrow(ranks), as.integer(info$ranks)),
    if (lost > 0) sprintf("%s of more than 384 kinds of call are in no row", counted(lost, "call")),
    if (any(ranks[["waits"]] != "scheduler")) "the kernel keeps no account of waits: preempted time holds all the time off the CPU",
    sprintf("looking at arrivals took %s %% of the time", format(signif(cost, 2))))
}

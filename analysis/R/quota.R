# A quota of CPU time (cpu.max, cpu.cfs_quota_us): whoever has used it up stands still until its next period. No task took that time.

# Time that the ranks stood still by it: percent of a rank's time, in the given rows; NA where that is not known. Time of rows of several
# lengths counts by their length.
throttled_percent <- function(rows, at = seq_len(nrow(rows))) {
  stopped <- rows[["throttled_ns"]][at]
  known <- is.finite(stopped)
  if (!any(known)) return(NA_real_)
  100 * sum(stopped[known]) / sum((rows[["wall_ns"]] * pmax(1, rows[["ranks"]]))[at][known])
}

# The tightest quota of the launches' nodes, in words; "" where none is on record.
quota_words <- function(campaign) {
  quotas <- unlist(lapply(campaign$launches, function(info) lapply(info$hosts, `[[`, "cpu_quota")), recursive = FALSE)
  quotas <- Filter(function(q) is.list(q) && is_number(q$cpus), quotas)
  if (length(quotas) == 0) return("")
  q <- quotas[[which.min(vapply(quotas, `[[`, 0, "cpus"))]]
  sprintf(" of %s CPUs%s", format_level(q$cpus), if (is_text(q$group)) sprintf(" (%s)", printable(q$group)) else "")
}

# The load or the agent makes the quota stop the ranks more, or less: part of what it costs is the quota's. NULL where it does not.
quota_sentence <- function(campaign, alpha = 0.01) {
  rows <- campaign$rows
  if (is.na(throttled_percent(rows))) return(NULL)
  pairs <- pair_rows(rows)
  if (length(pairs$on) < 2) return(NULL)
  share <- 100 * rows[["throttled_ns"]] / (rows[["wall_ns"]] * pmax(1, rows[["ranks"]]))
  d <- share[pairs$on] - share[pairs$off]
  arm <- paste(rows[["kind"]], rows[["level_requested_percent"]])[pairs$on]
  arms <- in_order(arm)
  said <- vapply(split(seq_along(d), arms), function(at) {
    shift <- batch_mean_ci(d[at][is.finite(d[at])], 1 - 2 * alpha / nlevels(arms))
    if (is.na(shift$low) || (shift$low <= 0 && shift$high >= 0)) return("")
    on <- pairs$on[at[1]]
    level <- rows[["level_requested_percent"]][on]
    sprintf("with %s by %s points of the ranks' time %s", if (has_level(level)) paste(format_level(level), "%") else
            printable(as.character(rows[["kind"]][on])), format_interval(shift$low, shift$high), if (shift$low > 0) "more" else "less")
  }, "")
  said <- said[nzchar(said)]
  if (length(said) == 0) return(NULL)
  paste0("the CPU quota", quota_words(campaign), " stops the ranks ", join_words(said),
         ": that part of the slowdown is the quota's, and would not be there without it.")
}

# Rows like those of tasks.HOST.csv: what the quota took. The figures of a half are of all nodes: only of launches on one node.
quota_tasks <- function(campaign) {
  rows <- as.data.frame(campaign$rows)
  tasks <- as.data.frame(campaign$tasks)
  if (nrow(tasks) == 0 || is.na(throttled_percent(rows))) return(NULL)
  hosts <- unique(tasks[c("launch", "host", "source")])
  hosts <- hosts[!hosts$launch %in% hosts$launch[duplicated(hosts$launch)], ]
  rows <- rows[is.finite(rows$throttled_ns) & rows$launch %in% hosts$launch, ]
  arms <- split(rows, in_order(paste(rows$launch, rows$arm, rows$kind, rows$level_requested_percent, sep = "\r")))
  bind_rows(lapply(unname(arms), function(arm) {
    host <- hosts[match(arm$launch[1], hosts$launch), ]
    row <- tasks[match(arm$launch[1], tasks$launch), ]
    row[setdiff(names(row), c("launch", "host", "source"))] <- NA
    row$arm <- arm$arm[1]
    row$kind <- as.character(arm$kind[1])
    row$level_requested_percent <- arm$level_requested_percent[1]
    row$task <- "the CPU quota"
    row$group <- "quota"
    row$wall_ns <- sum(arm$throttled_ns)
    row
  }))
}

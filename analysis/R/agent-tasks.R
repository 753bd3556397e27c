# Who took the CPU of the ranks: tasks, by the best evidence that the machine allowed.

# What each source of tasks.HOST.csv can tell.
task_sources <- c(
  cpu = "by context-switch records of the CPUs: which task ran, from when to when",
  thread = "by records of the ranks' own threads: when a rank was off its CPU is exact, which task ran instead is not known",
  schedstat = "by /proc/PID/task/*/schedstat sampled from another CPU: CPU time and groups are right, single bursts are not",
  counts = "by involuntary switches and CPU time only: which task ran is not known"
)

# Groups that are switched on purpose: their rows come first.
treated_groups <- c("agent", "scraper", "generator")

# Groups that take nothing from a rank.
own_groups <- c("rank", "idle")

#' Who took the CPU of the ranks
#'
#' The tasks that ran on the CPUs of ranks during the measured halves of an arm, beside the off halves (`tasks.HOST.csv`).
#'
#' @inheritParams agent_accounts
#' @param groups Logical, length 1: sums by group instead of tasks.
#' @return A data frame, one row per launch x node x arm x task (or group), agents' arms first, in each arm what is switched on purpose
#'   (agent, scraper, generator), then the largest shift first: `launch`, `host`,
#'   `source` (`cpu`, `thread`, `schedstat` or `counts`), `kind`, `level_requested_percent` (`Inf`: an agent's arm), `task`,
#'   `group`, `cpus` (text, the busiest first), `bursts_per_s`, `off_bursts_per_s`, `us_per_s` (CPU time, us per second, where
#'   it is known, else time on the CPU), `off_us_per_s`, `shift_us_per_s` (on minus off; NA in a launch without off
#'   halves), `p50_us`, `p90_us`, `p99_us`,
#'   `max_us` (lengths of the bursts in the arm; of several CPUs the means of their quantiles, by bursts), `threads`,
#'   `share` (of the shift of the ranks' preempted time that this one explains), `share_low`, `share_high` (from the
#'   interval of that shift; NA where it is not clearly above 0). Ranks and idle are left out.
#' @noRd
agent_tasks <- function(campaign, alpha = 0.01, groups = FALSE) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  rows <- as.data.frame(campaign$tasks)
  rows$kind <- as.character(rows$kind)
  rows <- bind_rows(list(rows[!rows$group %in% own_groups, ], quota_tasks(campaign)))
  if (nrow(rows) == 0) return(data.frame())
  if (groups) rows$task <- rows$group
  rows$kind[rows$arm == "off"] <- "off"
  rows$time_ns <- ifelse(is.na(rows$cpu_ns), rows$wall_ns, rows$cpu_ns)
  seconds <- arm_seconds(campaign)
  nodes <- split(rows, in_order(paste(rows$launch, rows$host, sep = "\r")))
  table <- bind_rows(lapply(unname(nodes), function(node) node_tasks(node, seconds)))
  shared_shift(table, campaign, alpha)
}

arm_key <- function(launch, host, kind, level) paste(launch, host, kind, ifelse(kind == "off", 0, level), sep = "\r")

# Measured seconds of each arm on each node, named by arm_key(); by the account where there is one.
arm_seconds <- function(campaign) {
  account <- as.data.frame(campaign$agents)[c("launch", "host", "arm", "kind", "level_requested_percent", "wall_ns")]
  hosts <- unique(as.data.frame(campaign$tasks)[c("launch", "host")])
  hosts <- hosts[!paste(hosts$launch, hosts$host) %in% paste(account$launch, account$host), ]
  parts <- c(list(account), lapply(seq_len(nrow(hosts)), function(i) {
    rows <- campaign$rows[campaign$rows[["launch"]] == hosts$launch[i], ]
    data.frame(launch = hosts$launch[i], host = hosts$host[i], arm = rows[["arm"]], kind = rows[["kind"]],
               level_requested_percent = rows[["level_requested_percent"]], wall_ns = rows[["wall_ns"]])
  }))
  all <- do.call(rbind, parts)
  kind <- ifelse(all$arm == "off", "off", as.character(all$kind))
  sums <- rowsum(all$wall_ns, arm_key(all$launch, all$host, kind, all$level_requested_percent))
  stats::setNames(sums[, 1] / 1e9, rownames(sums))
}

node_tasks <- function(node, seconds) {
  code <- paste(node$kind, ifelse(node$kind == "off", 0, node$level_requested_percent), node$task, node$group, sep = "\r")
  sums <- bind_rows(lapply(unname(split(node, in_order(code))), task_sums, seconds = seconds))
  off <- sums[sums$kind == "off", ]
  was_off <- arm_key(node$launch[1], node$host[1], "off", 0) %in% names(seconds)
  arms <- unique(sums[sums$kind != "off", c("kind", "level_requested_percent")])
  arms <- arms[order(has_level(arms$level_requested_percent)), ]
  rows <- lapply(seq_len(nrow(arms)), function(i) {
    on <- sums[sums$kind == arms$kind[i] & sums$level_requested_percent == arms$level_requested_percent[i], ]
    beside <- match(paste(on$task, on$group), paste(off$task, off$group))
    # What ran in off halves only is a row, too: it did not run with the agent.
    gone <- off[!seq_len(nrow(off)) %in% beside, ]
    if (nrow(gone) > 0) {
      gone[c("kind", "level_requested_percent")] <- arms[i, ]
      gone[c("bursts_per_s", "us_per_s")] <- 0
      gone[c("p50_us", "p90_us", "p99_us", "max_us")] <- NA_real_
      beside <- c(beside, which(!seq_len(nrow(off)) %in% beside))
      on <- rbind(on, gone)
    }
    known_zero <- function(x) ifelse(is.na(beside), if (was_off) 0 else NA_real_, x[beside])
    on$off_bursts_per_s <- known_zero(off$bursts_per_s)
    on$off_us_per_s <- known_zero(off$us_per_s)
    on$shift_us_per_s <- on$us_per_s - on$off_us_per_s
    on[order(!on$group %in% treated_groups, -on$shift_us_per_s, -on$us_per_s), ]
  })
  bind_rows(rows)
}

# One task in one arm of one node, over its CPUs.
task_sums <- function(part, seconds) {
  first <- part[1, ]
  span <- unname(seconds[arm_key(first$launch, first$host, first$kind, first$level_requested_percent)])
  weight <- ifelse(is.na(part$bursts), 0, part$bursts)
  quantile <- function(x) {
    known <- !is.na(x) & weight > 0
    if (any(known)) sum(x[known] * weight[known]) / sum(weight[known]) / 1000 else NA_real_
  }
  total <- function(x) if (all(is.na(x))) NA_real_ else sum(x, na.rm = TRUE)
  busiest <- unique(part$cpu[order(-part$time_ns)])
  list(launch = first$launch, host = first$host, source = first$source, kind = first$kind,
       level_requested_percent = first$level_requested_percent,
       task = if (first$task == "?") first$group else printable(first$task), group = first$group,
       cpus = paste(busiest[!is.na(busiest) & busiest >= 0], collapse = ","), bursts_per_s = total(part$bursts) / span,
       us_per_s = total(part$time_ns) / span / 1000, p50_us = quantile(part$p50_ns), p90_us = quantile(part$p90_ns),
       p99_us = quantile(part$p99_ns), max_us = if (all(is.na(part$max_ns))) NA_real_ else max(part$max_ns, na.rm = TRUE) / 1000,
       threads = if (all(is.na(part$threads))) NA_real_ else max(part$threads, na.rm = TRUE))
}

# Columns share, share_low, share_high: of the shift of the ranks' preempted time.
shared_shift <- function(table, campaign, alpha) {
  shifts <- agent_shifts(campaign, agents_only = FALSE)
  lost <- lapply(shifts, function(s) batch_mean_ci(s$preempted[is.finite(s$preempted)], 1 - 2 * alpha))
  at <- match(arm_key(table$launch, table$host, table$kind, table$level_requested_percent),
              vapply(shifts, function(s) arm_key(s$launch, s$host, s$kind, s$level), ""))
  of <- function(key) vapply(lost, function(x) as.numeric(x[[key]]), 0)[at]
  clear <- !is.na(of("low")) & of("low") > 0
  share <- function(key) ifelse(clear, table$shift_us_per_s / of(key), NA_real_)
  table$share <- share("estimate")
  ends <- cbind(share("low"), share("high"))
  table$share_low <- pmin(ends[, 1], ends[, 2])
  table$share_high <- pmax(ends[, 1], ends[, 2])
  table
}

# Where the tasks come from and what was lost, per launch and node: one text each.
task_evidence <- function(campaign) {
  if (NROW(campaign$tasks) == 0) return(character())
  nodes <- unique(as.data.frame(campaign$tasks)[c("launch", "host", "source")])
  vapply(seq_len(nrow(nodes)), function(i) {
    node <- nodes[i, ]
    agent <- Filter(function(a) identical(a$host, node$host), campaign$launches[[node$launch]]$agents)
    agent <- if (length(agent) > 0) agent[[1]]
    rows <- campaign$agents[campaign$agents[["launch"]] == node$launch & campaign$agents[["host"]] == node$host, ]
    count <- function(column) if (any(!is.na(rows[[column]]))) sum(rows[[column]], na.rm = TRUE) else NA_real_
    lost <- agent$lost_switches %||% count("lost_switches")
    ins <- agent$ins %||% count("switch_ins")
    outs <- agent$outs %||% count("switch_outs")
    why <- if (is_text(agent$source_reason)) sprintf(" (no better source: %s)", printable(agent$source_reason)) else ""
    known <- unname(task_sources[node$source])
    balance <- if (isTRUE(ins == outs)) sprintf("%s switches in and out", format_count(ins)) else if (!anyNA(c(ins, outs))) {
      sprintf("%s switches in and %s out", format_count(ins), format_count(outs))
    }
    losses <- if (isTRUE(lost > 0)) sprintf("%s RECORDS WERE LOST: times are too small", format_count(lost)) else
      if (!is.na(lost)) "none lost"
    paste0(node$launch, ", ", node$host, ": ", if (is.na(known)) paste("source", printable(node$source)) else known, why,
           if (length(c(balance, losses)) > 0) paste0("; ", paste(c(balance, losses), collapse = ", ")))
  }, "")
}

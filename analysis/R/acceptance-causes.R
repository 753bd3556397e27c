# Who else had a node's CPUs while it was measured, what came in bursts, and what each of them would cost at
# scale: what noiselab-record saw during the launches (`others` of launch.json), and what the scans lost
# that no task had.

# What is named beside the shares: tasks that take a CPU for longer than any tick, as often as to matter; at
# most so many by cost, and so many more that come with a period where others that are always there cost as
# much. `apart`: processes of one name that have a row each.
named_task <- list(burst_s = 1e-4, duty = 0.5, by_cost = 3, periodic = 2, apart = 4, nodes = 3,
                   least_percent = 0.01)

# Programs that monitor nodes, by how their names begin.
agent_names <- c("collectd", "telegraf", "node_exporter", "prometheus", "ldmsd", "gmond", "pmcd", "pmda",
                 "netdata", "zabbix_agent", "nrpe", "datadog", "dcgm", "nv-hostengine", "fluent", "vector",
                 "metricbeat", "filebeat", "auditbeat", "slurmd", "slurmstepd", "munged", "nhc", "check_mk",
                 "sadc", "sssd", "chronyd", "ntpd")

cause_kinds <- c(task = "tasks", agent = "agents", kernel = "kernel threads",
                 interrupts = "interrupts and firmware", hypervisor = "the hypervisor")

# A row per cause and node, the costliest first: `cause` (`task`, `agent`, `kernel`, `interrupts`,
# `hypervisor`), `task`, `pid` (NA: several processes, or not known), `processes`, `pids`, `unit`, `cgroup`,
# `cpus`, `percent` (of the node's CPU time), `percent_of_cpu`; of the bursts that make up its time
# `burst_s` (mean), `per_s`, `period_s`, `duty_percent` (of one CPU: rate x mean), of all of them
# `longest_s`, and `shorter_percent` (of one CPU: what its shorter bursts take); `at_scale_percent` with
# interval: what it alone would cost many such nodes, NA: not projected; never more than all of a node's noise
# (`scale`, of noise_at_scale()).
noise_causes <- function(acceptance, figures, asked, scale = NULL) {
  by_node <- lapply(acceptance$hosts, function(host) {
    takers <- node_takers(Filter(function(o) o$host == host, known_others(acceptance$others)))
    rows <- bind_rows(list(takers, unnamed_causes(figures, host)))
    if (NROW(rows) > 0) cbind(host = host, rows)
  })
  rows <- bind_rows(by_node)
  if (NROW(rows) == 0) return(NULL)
  rows$proxy <- cost_proxy(rows, asked)
  # of many nodes those whose causes are largest
  most <- tapply(rows$proxy, rows$host, max, -Inf, na.rm = TRUE)
  worst <- utils::head(names(sort(-most)), named_task$nodes)
  rows <- rows[
    order(match(rows$host, acceptance$hosts), -ifelse(is.na(rows$proxy), 0, rows$proxy), -rows$percent),
  ]
  rows[c("at_scale_percent", "at_scale_low", "at_scale_high")] <- NA_real_
  for (host in worst) {
    own <- which(rows$host == host & is.finite(rows$proxy) & rows$proxy > 0)
    for (i in utils::head(own, named_task$by_cost + named_task$periodic)) {
      rows[i, c("at_scale_percent", "at_scale_low", "at_scale_high")] <-
        cause_at_scale(rows[i, ], asked, scale[scale$host == host, ])
    }
  }
  known <- !is.na(rows$at_scale_percent)
  rows <- rows[
    order(match(rows$host, acceptance$hosts), !known, -ifelse(known, rows$at_scale_percent, 0),
          -ifelse(is.na(rows$proxy), 0, rows$proxy), -rows$percent),
  ]
  rownames(rows) <- NULL
  rows[setdiff(names(rows), c("proxy", "main_busy_s", "main_parted_s", "pieces_s"))]
}

# About what bursts of a length and rate cost: what a step of many nodes meets, at most one piece of one in
# each.
cost_proxy <- function(rows, asked) {
  pieces <- pmax(1, rows$main_pieces / rows$main_bursts)
  hits <- asked$nodes * asked$every_s * rows$per_s * pieces
  100 * rows$burst_s / pieces / asked$every_s * (1 - exp(-hits))
}

cause_at_scale <- function(row, asked, whole = NULL) {
  got <- scale_cell(noise_or_all(task_noise(row)), asked, 0.01)
  ends <- c(got$value, got$low, got$high)
  if (NROW(whole) == 1) {
    ends[1:2] <- pmin(ends[1:2], c(whole$value, whole$ci_low))
    if (!is.na(whole$ci_high)) ends[3] <- min(ends[3], whole$ci_high, na.rm = TRUE)
  }
  as.list(ends)
}

# The tasks of a node over all its launches, the busiest first.
node_takers <- function(others) {
  tasks <- bind_rows(lapply(others, `[[`, "tasks"))
  if (NROW(tasks) == 0) return(NULL)
  span_s <- sum(vapply(others, `[[`, 0, "span_s"))
  cpus <- max(vapply(others, `[[`, 0, "n_cpus"))
  tasks <- tasks[order(-tasks$busy_s), ]
  # processes that come and go have one row together
  n_of_name <- tapply(tasks$pid, tasks$task, function(pid) length(unique(pid)))
  tasks$apart <- ifelse(is.na(tasks$pid) | n_of_name[tasks$task] > named_task$apart, "", paste(tasks$pid))
  key <- paste(tasks$task, tasks$apart, sep = "\r")
  first <- tasks[!duplicated(key), ]
  own <- split(tasks, factor(key, unique(key)))
  sums <- function(name) vapply(own, function(t) sum(t[[name]], na.rm = TRUE), 0)
  first$busy_s <- sums("busy_s")
  first$main_bursts <- sums("main_bursts")
  first$main_busy_s <- sums("main_busy_s")
  first$main_pieces <- sums("main_pieces")
  first$main_parted_s <- sums("main_parted_s")
  first$pieces_s <- I(lapply(own, function(t) unlist(t$pieces_s)))
  several <- vapply(own, function(t) length(unique(t$pid)) > 1, TRUE)
  first$pid[several] <- NA
  first$processes[several] <- vapply(
    own[several], function(t) max(length(unique(stats::na.omit(t$pid))), t$processes, na.rm = TRUE), 0
  )
  first$longest_s <- vapply(
    own,
    function(t) {
      if (all(is.na(t$longest_s))) NA_real_ else max(t$longest_s, na.rm = TRUE)
    },
    0
  )
  has_bursts <- first$main_bursts > 0 & !is.na(first$burst_s)
  burst_s <- ifelse(has_bursts, first$main_busy_s / first$main_bursts, NA_real_)
  per_s <- ifelse(has_bursts, first$main_bursts / span_s, NA_real_)
  is_period <- keeps_period(per_s, first$period_s, burst_s)
  period_s <- ifelse(is_period, first$period_s, NA_real_)
  duty <- 100 * ifelse(is_period, burst_s / period_s, burst_s * per_s)
  is_agent <- vapply(first$task, function(t) any(startsWith(t, agent_names)), TRUE)
  rows <- data.frame(
    cause = ifelse(first$is_kernel, "kernel", ifelse(is_agent, "agent", "task")),
    task = first$task,
    pid = first$pid,
    processes = first$processes,
    pids = first$pids,
    unit = systemd_unit(first$cgroup),
    cgroup = first$cgroup,
    cpus = first$cpus,
    percent = 100 * first$busy_s / span_s / cpus,
    percent_of_cpu = 100 * first$busy_s / span_s,
    burst_s = burst_s,
    per_s = per_s,
    period_s = period_s,
    duty_percent = duty,
    longest_s = first$longest_s,
    shorter_percent = ifelse(has_bursts, pmax(0, 100 * (first$busy_s - first$main_busy_s) / span_s),
                             NA_real_),
    main_bursts = first$main_bursts,
    main_busy_s = first$main_busy_s,
    main_pieces = first$main_pieces,
    main_parted_s = first$main_parted_s,
    pieces_s = first$pieces_s,
    span_s = span_s
  )
  rownames(rows) <- NULL
  rows[order(-rows$percent), ]
}

# A period that the rate contradicts is of a part of the bursts; who is on a CPU without a pause has none.
keeps_period <- function(per_s, period_s, burst_s) {
  (abs(per_s * period_s - 1) < 0.25 & burst_s < named_task$duty * period_s) %in% TRUE
}

# The unit of systemd that a cgroup is of, or a container's; "": none.
systemd_unit <- function(cgroup) {
  last <- regmatches(cgroup, regexpr("[^/]+\\.(service|scope|socket|mount)", cgroup))
  unit <- character(length(cgroup))
  unit[grepl("[^/]+\\.(service|scope|socket|mount)", cgroup)] <- last
  unit
}

# What the scans lost that no task had: the hypervisor's share, and what is left, interrupts and firmware.
unnamed_causes <- function(figures, host) {
  of <- function(metric) {
    f <- figures[
      figures$check == "detour" & figures$variant == "all" & figures$metric == metric &
        figures$entity == host,
    ]
    if (nrow(f) == 1) f$value else NA_real_
  }
  steal <- of("steal")
  left <- of("lost") - (of("preempted") %else% 0) - (steal %else% 0)
  row <- function(cause, percent) {
    if (is.finite(percent)) {
      data.frame(cause = cause, task = unname(cause_kinds[cause]), pid = NA_real_, processes = NA_real_,
                 pids = "", unit = "", cgroup = "", cpus = "", percent = max(0, percent),
                 percent_of_cpu = NA_real_, burst_s = NA_real_, per_s = NA_real_, period_s = NA_real_,
                 duty_percent = NA_real_, longest_s = NA_real_, shorter_percent = NA_real_,
                 main_bursts = NA_real_, main_busy_s = NA_real_, main_pieces = NA_real_,
                 main_parted_s = NA_real_, pieces_s = I(list(NULL)), span_s = NA_real_)
    }
  }
  bind_rows(list(row("interrupts", left), row("hypervisor", steal)))
}

`%else%` <- function(x, otherwise) if (is.na(x)) otherwise else x

cause_words <- function(rows) {
  ifelse(
    !is.na(rows$pid),
    sprintf("%s (PID %s)", rows$task, format_count_each(ifelse(is.na(rows$pid), 0, rows$pid))),
    ifelse(
      rows$cause %in% c("task", "agent") & (rows$processes > 1) %in% TRUE,
      sprintf("%s (%s processes)", rows$task,
              format_count_each(ifelse(is.na(rows$processes), 0, rows$processes))),
      rows$task
    )
  )
}

# Who is named by what it does: the costliest by their bursts, and those with a period.
is_named_task <- function(causes) {
  can <- (causes$burst_s >= named_task$burst_s & causes$duty_percent >= named_task$least_percent) %in% TRUE
  by_cost <- can & cumsum(can) <= named_task$by_cost
  periodic <- can & !by_cost & !is.na(causes$period_s)
  by_cost | periodic & cumsum(periodic) <= named_task$periodic
}

# The node that lost most and who took it, the tasks that come in bursts, and how far the others are from
# it; empty where no launch tells.
noise_lines <- function(acceptance, figures, causes) {
  rows <- figures[figures$check == "others" & figures$metric == "taken", ]
  if (nrow(rows) == 0) return(scan_line(acceptance, figures))
  rows <- rows[order(-rows$value), ]
  worst <- rows[1, ]
  known <- Filter(function(o) o$host == worst$entity, known_others(acceptance$others))
  mine <- causes[causes$host == worst$entity, ]
  longest_s <- suppressWarnings(max(unlist(lapply(known, function(o) o$lengths$seconds))))
  by_account <- any(vapply(known, `[[`, "", "source") == "proc")
  unseen <- unseen_words(acceptance$others, worst$entity, 0.1)
  most <- mine[mine$cause %in% c("task", "agent", "kernel") & mine$percent >= 0.005, ]
  most <- utils::head(most[order(-most$percent), ], 3)
  c(
    paste0(
      sprintf("Node %s: other tasks used %s%s of the CPU time", worst$entity,
              format_figure(worst$value, "percent"), interval_text(worst)),
      if (is.finite(longest_s)) {
        paste0(", at most ", format_time(longest_s), " at once")
      },
      if (NROW(most) > 0) {
        paste0(": most by ",
               join_words(sprintf("%s %s", cause_words(most), format_figure(most$percent, "percent"))))
      },
      if (!is.na(unseen)) paste0("; ", unseen),
      if (by_account) {
        paste0(
          "; the tasks' accounts in /proc show no bursts, and nothing of tasks that ended (root, ",
          "CAP_PERFMON or ",
          "perf_event_paranoid <= 0 would)"
        )
      },
      if (nrow(rows) > 1) {
        sprintf("; on the other %s at most %s",
                if (nrow(rows) == 2) "node" else sprintf("%d nodes", nrow(rows) - 1),
                format_figure(rows$value[2], "percent"))
      },
      "."
    ),
    taker_lines(worst$entity, mine),
    kind_line(worst$entity, mine)
  )
}

# Why the record of who ran lacks somebody: more of the CPUs' time is unaccounted for than ticks leave open,
# and than `least_points` of percent. NA: it does not, or the record is of an older version, which does not
# say.
unseen_words <- function(others, host, least_points = 0) {
  for (o in Filter(function(o) o$host == host, known_others(others))) {
    account <- o$account
    percent <- unaccounted_percent(account)
    if (is.infinite(percent)) {
      return(
        "how long the CPUs were busy cannot be read, so that nobody knows whom the record of who ran lacks"
      )
    }
    if (percent > least_points) {
      return(sprintf(
        "%s of the CPU time was used by nobody who could be seen%s",
        format_figure(percent, "percent"),
        if (is.null(account$blind)) {
          ""
        } else {
          paste0(" (", printable(account$blind), ")")
        }
      ))
    }
  }
  NA_character_
}

# Of the CPU time of a host, percent that nobody who could be seen used, in the launch in which it was most:
# 0 where a list of tasks counts it as the others' already; Inf where it is not known.
hidden_percent <- function(others, host) {
  mine <- Filter(function(o) o$host == host && !identical(o$source, "proc"), known_others(others))
  max(0, vapply(mine, function(o) unaccounted_percent(o$account), 0))
}

# Figures of which the share of CPU time that others took reaches up to what they would have if all that
# nobody was seen to use were theirs. `known`: percent of it that a reference had at least, which is no other
# than this here. `hidden`: why, where that is more than the list of tasks says (else NA).
with_hidden_time <- function(figures, others, known = 0) {
  figures$hidden <- rep(NA_character_, nrow(figures))
  for (i in which(figures$check == "others" & figures$metric == "taken")) {
    more <- hidden_percent(others, figures$entity[i]) - known
    if (more <= 0) next
    figures$ci_high[i] <- figures$ci_high[i] + more
    figures$hidden[i] <- unseen_words(others, figures$entity[i])
  }
  figures
}

# What the reference had of it in each of its nodes and launches, at least.
least_hidden_percent <- function(others) {
  hosts <- unique(vapply(others, `[[`, "", "host"))
  each <- unlist(lapply(hosts, function(host) {
    vapply(Filter(function(o) o$host == host, others), function(o) hidden_percent(list(o), host), 0)
  }))
  if (length(each) == 0 || any(is.infinite(each))) 0 else min(each)
}

# Nodes that are alike by a list of tasks pass only where the list is whole: who is hidden on one of them is
# not on the others.
without_unseen <- function(judgements, others, margins) {
  at <- which(judgements$check == "others" & judgements$verdict == "pass" &
                !judgements$kind %in% c("limit", "reference"))
  least <- margins$floor[margins$kind == "share"]
  for (i in at) {
    why <- unseen_words(others, judgements$entity[i], least)
    if (!is.na(why)) judgements[i, c("verdict", "reason")] <- list("inconclusive", why)
  }
  judgements
}

# Why a quiet record of a node is no proof of quiet: nobody recorded who ran, or what recorded it sees no
# bursts, or not all tasks. NA: it does.
blind_words <- function(others, host) {
  mine <- Filter(function(o) o$host == host, others)
  unseen <- unseen_words(others, host)
  if (!is.na(unseen)) return(unseen)
  known <- Filter(function(o) o$source != "proc", known_others(mine))
  if (length(known) > 0 && length(known) == length(mine)) return(NA_character_)
  if (length(known_others(mine)) < length(mine) || length(mine) == 0) {
    return(
      paste0("who else ran was not recorded in every launch, and scans of seconds do not see bursts that ",
             "come once in minutes")
    )
  }
  paste(
    paste0("the tasks' accounts in /proc show no bursts, and scans of seconds do not see those that come ",
           "once in minutes"),
    "(root, CAP_PERFMON or perf_event_paranoid <= 0 would record them)"
  )
}

interval_text <- function(row) {
  if (is.na(row$ci_low) || is.na(row$ci_high)) return("")
  sprintf(" (%s to %s)", format_effect(max(0, row$ci_low), FALSE), format_effect(row$ci_high, FALSE))
}

taker_lines <- function(host, causes) {
  t <- causes[is_named_task(causes), ]
  if (NROW(t) == 0) return(NULL)
  # what comes back is somebody's doing, whatever else is there all the time
  t <- t[order(is.na(t$period_s)), ]
  each <- sprintf(
    "%s takes %s for %s %s (%s of a CPU%s)",
    paste0(cause_words(t), ifelse(nzchar(t$unit), paste0(" of ", t$unit), "")),
    cpus_words(t$cpus),
    format_time(t$burst_s),
    ifelse(is.na(t$period_s),
           sprintf("at a time, %s per second without a period", format_effect(t$per_s, FALSE)),
           paste("every", format_time(t$period_s))),
    format_figure(t$duty_percent, "percent"),
    ifelse(t$shorter_percent >= 0.1,
           sprintf("; another %s in shorter bursts", format_figure(t$shorter_percent, "percent")), "")
  )
  paste0("On ", host, ", ", each, ".")
}

# How much of it is whose, in the order of `cause_kinds`.
kind_line <- function(host, causes) {
  sums <- tapply(causes$percent, factor(causes$cause, names(cause_kinds)), sum)
  sums <- sums[!is.na(sums)]
  if (length(sums) < 2) return(NULL)
  sprintf("CPU time of %s, by cause: %s.", host,
          join_words(sprintf("%s %s", cause_kinds[names(sums)], format_figure(as.vector(sums), "percent"))))
}

# Where nobody recorded who ran the scans tell how much was lost.
scan_line <- function(acceptance, figures) {
  rows <- figures[figures$check == "detour" & figures$metric == "lost" & figures$variant == "alone", ]
  if (length(acceptance$others) == 0 || nrow(rows) == 0) return(NULL)
  worst <- rows[which.max(rows$value), ]
  why <- stats::na.omit(vapply(acceptance$others, `[[`, "", "reason"))
  sprintf("Node %s lost %s%s of its CPU time in detours; who used it was not recorded (%s).", worst$entity,
          format_figure(worst$value, "percent"), interval_text(worst),
          if (length(why) > 0) why[1] else "no time passed")
}

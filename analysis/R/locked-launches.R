# Burst-locked slowdown of launches: from the files of a campaign to a row per launch and operation.

#' Slowdown by the agent's bursts
#'
#' Of every launch with an agent: what its bursts on the ranks' CPUs cost the loop while it ran undisturbed.
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param alpha Probability, length 1: one-sided level of the limit and of the look at the time before the bursts; intervals have confidence
#'   1 - 2 alpha.
#' @param reader From `slices_reader()`: who has read the files already.
#' @return A data frame, one row per launch x operation x bytes: `launch`, `operation`, `bytes`, `n_bursts` (bursts that follow each other
#'   within a window are one), `bursts_per_s` (of loop time with the agent), `burst_cpu_ns` (mean time on the CPU), `cost_ns`,
#'   `cost_low_ns`, `cost_high_ns` (what a burst costs all ranks), `slowdown_percent`, `slowdown_low`, `slowdown_high` (cost x bursts per
#'   second, of the time that is left), `p_value` (one-sided), `limit_percent` (slowdown that would have been found with power 0.95),
#'   `amplification`, `amplification_low`, `amplification_high` (cost over time on the CPU), `absorbed_share` (of the bursts: cost below
#'   half of their time on the CPU; NA where the background hides that), `z`, `state` (`measured`, `few`, `dense`, `busy`, `not flat`,
#'   `unrecorded`), `reason` (why there is no figure, else NA), `figure` (list, see `bursts_figure()`), `watched_s` (s in which bursts were
#'   recorded), `is_quick` (quick halves?), `beyond` (list: the figure of these, with bursts that give a figure, and with none at all). NULL without a launch with an agent.
#' @seealso `locked_cost()` for the method, `pool_locked()` for several launches together.
#' @noRd
locked_by_launch <- function(campaign, alpha = 0.01, reader = slices_reader()) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  check_probability(alpha, "alpha")
  rows <- campaign$rows
  on <- rows[["arm"]] == "on" & is_agent_row(rows)
  ids <- Filter(function(id) switches_agent(campaign$launches[[id]]), unique(as.character(rows[["launch"]][on])))
  cells <- unlist(unname(lapply(ids, function(id) {
    mine <- which(on & rows[["launch"]] == id)
    mine <- undisturbed_rows(campaign, mine)
    unname(split(mine, in_order(paste(rows[["operation"]][mine], rows[["bytes"]][mine]))))
  })), recursive = FALSE)
  key <- vapply(cells, function(at) paste(rows[["operation"]][at[1]], rows[["bytes"]][at[1]], rows[["kind"]][at[1]]), "")
  tracks <- lapply(cells, function(at) track_of_rows(campaign, as.character(rows[["launch"]][at[1]]), at, reader))
  bind_rows(lapply(seq_along(cells), function(i) {
    first <- cells[[i]][1]
    others <- Filter(is.list, tracks[setdiff(which(key == key[i]), i)])
    id <- as.character(rows[["launch"]][first])
    row <- cbind(data.frame(launch = id, operation = as.character(rows[["operation"]][first]),
                            bytes = rows[["bytes"]][first]), cost_of_track(tracks[[i]], alpha, 1 - 2 * alpha, others = others))
    same <- on & rows[["launch"]] == id & rows[["operation"]] == row$operation & rows[["bytes"]] == row$bytes
    row$watched_s <- sum(rows[["wall_ns"]][same]) / 1e9
    row$is_quick <- !is.null(planned_parts(campaign, id))
    row$beyond <- list(if (row$state == "measured" || row$n_bursts %in% 0) beyond_of_rows(campaign, id, cells[[i]], reader, alpha))
    row
  }))
}

#' Several launches together
#'
#' @param rows Data frame: some rows of `locked_by_launch()`.
#' @param alpha Probability, length 1: the intervals of `rows`, and those of the result, have confidence 1 - alpha.
#' @param like Is it about launches like these? The launch is the unit then: interval and p-value are no smaller than Student's over launches.
#' @return A data frame, one row per operation x bytes, columns as in `rows` without `launch`, and `n_launches`, `heterogeneity_p`
#'   (Cochran's Q of the slowdowns; NA of one launch): about these launches. Each counts by its bursts; the worst state wins, and without a
#'   figure of one there is none.
#' @noRd
pool_locked <- function(rows, alpha = 0.02, like = FALSE) {
  if (NROW(rows) == 0) return(NULL)
  groups <- split(rows, in_order(paste(rows$operation, rows$bytes)))
  bind_rows(lapply(groups, function(group) {
    cell <- pool_locked_cell(group, alpha)
    if (like && cell$state == "measured" && nrow(group) > 1) cell <- over_launches(cell, group, alpha)
    cbind(group[1, c("operation", "bytes")], cell, row.names = NULL)
  }))
}

# What launches differ by counts, too.
over_launches <- function(cell, group, alpha) {
  k <- nrow(group)
  for (columns in list(c("cost_ns", "cost_low_ns", "cost_high_ns"), c("amplification", "amplification_low", "amplification_high"))) {
    reach <- stats::qt(1 - alpha / 2, k - 1) * stats::sd(group[[columns[1]]]) / sqrt(k)
    centre <- cell[[columns[1]]]
    cell[[columns[2]]] <- min(cell[[columns[2]]], centre - reach)
    cell[[columns[3]]] <- max(cell[[columns[3]]], centre + reach)
  }
  se <- stats::sd(group$slowdown_percent) / sqrt(k)
  these <- cell$figure[[1]]
  cell$figure <- list(figure_of(these$value, function(a) {
    ends <- these$ends(a)
    reach <- stats::qt(1 - a, k - 1) * se
    c(min(ends[1], these$value - reach), max(ends[2], these$value + reach))
  }))
  cell[c("slowdown_low", "slowdown_high")] <- as.list(cell$figure[[1]]$ends(alpha / 2))
  if (se > 0) cell$p_value <- max(cell$p_value, stats::pt(cell$slowdown_percent / se, k - 1, lower.tail = FALSE))
  cell$limit_percent <- max(cell$limit_percent, detection_limit(se, k - 1, alpha / 2), na.rm = TRUE)
  cell
}

pool_locked_cell <- function(group, alpha) {
  k <- nrow(group)
  worst <- which.max(match(group$state, locked_states))
  if (group$state[worst] != "measured" || k == 1) {
    return(cbind(group[worst, c(names(locked_columns), "figure")], n_launches = k, heterogeneity_p = NA_real_, row.names = NULL))
  }
  q <- stats::qnorm(1 - alpha / 2)
  se <- function(low, high) (group[[high]] - group[[low]]) / (2 * q)
  pooled <- function(value, low, high, weight) {
    weight <- weight / sum(weight)
    centre <- sum(weight * group[[value]])
    reach <- q * sqrt(sum((weight * se(low, high))^2))
    stats::setNames(list(centre, centre - reach, centre + reach), c(value, low, high))
  }
  share <- group$seconds / sum(group$seconds)
  figure <- figures_together(group$figure, function(...) sum(share * c(...)))
  ends <- figure$ends(alpha / 2)
  z <- sum(stats::qnorm(pmin(pmax(group$p_value, .Machine$double.xmin), 1 - 1e-16), lower.tail = FALSE)) / sqrt(k)
  values <- c(
    list(n_bursts = sum(group$n_bursts), seconds = sum(group$seconds), bursts_per_s = sum(group$n_bursts) / sum(group$seconds),
         burst_cpu_ns = stats::weighted.mean(group$burst_cpu_ns, group$n_bursts)),
    pooled("cost_ns", "cost_low_ns", "cost_high_ns", group$n_bursts),
    list(slowdown_percent = figure$value, slowdown_low = ends[1], slowdown_high = ends[2]),
    pooled("amplification", "amplification_low", "amplification_high", group$n_bursts * group$burst_cpu_ns),
    list(p_value = max(.Machine$double.xmin, stats::pnorm(z, lower.tail = FALSE)),
         limit_percent = sqrt(sum((share * group$limit_percent)^2)),
         absorbed_share = stats::weighted.mean(group$absorbed_share, group$n_bursts), z = z, state = "measured")
  )
  row <- locked_row(values)
  row$figure <- list(figure)
  cbind(row, n_launches = k, heterogeneity_p = heterogeneity(group$slowdown_percent, se("slowdown_low", "slowdown_high")))
}

# The rows `at` of one launch, all under the same treatment.
locked_of_rows <- function(campaign, id, at, alpha, conf, power = 0.95, reader = read_slices) {
  scheduled <- !is_agent_row(campaign$rows[at[1], ])
  cost_of_track(track_of_rows(campaign, id, at, reader), alpha, conf, power, scheduled = scheduled)
}

# A text: why there is none; NULL: no burst.
track_of_rows <- function(campaign, id, at, reader) {
  parts <- locked_parts(campaign, id, at, reader)
  if (is.character(parts)) return(parts)
  track <- locked_track(parts$timeline, parts$bursts)
  if (!is_agent_row(campaign$rows[at[1], ])) track <- paid_bursts(track, sum(campaign$rows[["delivered_ns"]][at]))
  track
}

cost_of_track <- function(track, alpha, conf, power = 0.95, others = list(), scheduled = FALSE) {
  if (is.character(track)) locked_none("unrecorded", track) else locked_cost(track, alpha, conf, power, others, scheduled)
}

# The generator notes when a burst began and ended; where others had the CPU meanwhile that is longer than what it ran, which its account
# knows.
paid_bursts <- function(track, delivered_ns) {
  share <- delivered_ns / sum(track$windows$cpu_ns)
  if (isTRUE(share > 0 && share < 1)) track$windows$cpu_ns <- track$windows$cpu_ns * share
  track
}

# Reads each file once.
slices_reader <- function() {
  read <- new.env()
  function(file, info) {
    if (is.null(read[[file]])) assign(file, read_slices(file, info), envir = read)
    read[[file]]
  }
}

# ---- as rows of verdicts -----------------------------------------------------------------------

# A launch's row of the channel `locked`; NULL where there is no load, or nothing was recorded of it.
locked_verdict <- function(campaign, label, at, settings, reader) {
  if (length(at) == 0 || !isTRUE(label$level_requested_percent > 0)) return(NULL)
  got <- locked_of_rows(campaign, label$launch, at, settings$alpha, settings$conf, settings$power, reader)
  if (got$state == "unrecorded") return(NULL)
  label$level_delivered_percent <- delivered_percent(campaign$rows[["level_delivered_percent"]][at], campaign$rows[["wall_ns"]][at])
  label$delivered_ratio <- delivered_ratio(label$level_delivered_percent, label$level_requested_percent)
  locked_verdict_row(label, got, length(at), 1, settings)
}

# Of the rows of single launches; NULL without any.
locked_pooled_verdict <- function(rows, label, settings) {
  if (NROW(rows) < 2) return(NULL)
  got <- pool_locked_cell(bind_rows(rows$raw_locked), 2 * settings$alpha)
  label[c("level_delivered_percent", "delivered_ratio")] <- list(mean(rows$level_delivered_percent), mean(rows$delivered_ratio))
  locked_verdict_row(label, got, sum(rows$n_pairs), nrow(rows), settings)
}

locked_verdict_row <- function(label, got, n_pairs, n_launches, settings) {
  q <- stats::qnorm(1 - settings$alpha)
  est <- list(estimate = got$slowdown_percent, low = got$slowdown_low, high = got$slowdown_high,
              se = (got$slowdown_high - got$slowdown_low) / (2 * q),
              df = Inf, p = got$p_value, z = got$z, limit = got$limit_percent, method = "shifts of the bursts", estimator = "mean",
              why = "what a burst costs, times bursts per second")
  est$mean <- est[c("estimate", "low", "high", "se", "df")]
  row <- verdict_row(label, "locked", n_pairs, got$n_bursts, n_launches, est, list(p = NA_real_, method = NA_character_), got$reason,
                     settings, "burst",
                     est$estimate)
  row$raw_locked <- list(got)
  row
}

# The slices of these rows, and the bursts of their load on the ranks' CPUs of all nodes; or why there are none, a text.
locked_parts <- function(campaign, id, at, reader = read_slices) {
  info <- campaign$launches[[id]]
  rows <- campaign$rows[at, ]
  dir <- campaign$paths[[id]]
  files <- list.files(dir, "^slices\\..+\\.bin$")
  if (length(files) == 0) return(if (start_mode(info) == "loop") "no slices of the loop were recorded" else
                                 "synchronised starts have no slices")
  is_agents <- is_agent_row(rows)[1]
  lacking <- setdiff(loaded_hosts(campaign, id, is_agents), sub("^slices\\.(.+)\\.bin$", "\\1", files))
  if (length(lacking) > 0) return(paste("no slices of", few_words(lacking, 3)))
  parts <- lapply(files, function(file) {
    host <- sub("^slices\\.(.+)\\.bin$", "\\1", file)
    bursts <- if (is_agents) recorded_bursts_of_agent(campaign, id, host) else bursts_of_generator(dir, host)
    if (is.character(bursts)) return(bursts)
    list(file = file.path(dir, file), timeline = timeline_of(reader(file.path(dir, file), info), rows), bursts = on_ranks(bursts, campaign, id, host))
  })
  wrong <- Filter(is.character, parts)
  if (length(wrong) > 0) wrong[[1]] else on_one_timeline(parts)
}

# Nodes of ranks that had the load, by the agent's account or the generator's trace.
loaded_hosts <- function(campaign, id, is_agents) {
  ranks <- as.character(campaign$ranks[["host"]][campaign$ranks[["launch"]] == id])
  if (is_agents) {
    rows <- campaign$agents[campaign$agents[["launch"]] == id, ]
    if (NROW(rows) == 0) return(character())
    return(intersect(as.character(rows[["host"]][is_agent_row(rows) & (rows[["agent_cpu_ns"]] > 0) %in% TRUE]), ranks))
  }
  traces <- list.files(campaign$paths[[id]], "^generator\\..+\\.trace$", full.names = TRUE)
  loaded <- vapply(traces, function(file) any(grepl("^[0-9]", readLines(file, 20))), TRUE)
  intersect(sub("^generator\\.(.+)\\.trace$", "\\1", basename(traces[loaded])), ranks)
}

timeline_of <- function(slices, rows) {
  key <- function(x) paste(x[["operation"]], x[["bytes"]], x[["pair"]], x[["order"]], sep = "\r")
  blocks <- slices$blocks[key(slices$blocks) %in% key(rows), ]
  loop_timeline(blocks$start_ns, blocks$n, slices$ns[sequence(blocks$n, blocks$first)])
}

# On the clock of the slices.
absolute_bursts <- function(bursts, keys, file) {
  origin <- suppressWarnings(as.numeric(keys$origin_monotonic_ns %||% NA))
  if (is.na(origin)) return(paste0("'", basename(file), "' does not say when its time begins"))
  bursts$start_ns <- bursts$start_ns + origin
  bursts
}

recorded_bursts_of_agent <- function(campaign, id, host) {
  file <- campaign$bursts$file[campaign$bursts$launch == id & campaign$bursts$host == host]
  if (length(file) == 0) return("no bursts of the agent were recorded")
  bursts <- read_bursts(file)
  not_kept <- suppressWarnings(as.numeric(attr(bursts, "keys")$not_kept %||% 0))
  if (isTRUE(not_kept > 0)) return(sprintf("%s bursts found no room in the record (--who auto:keep-bursts=yes keeps more, less time needs fewer)",
                                           not_kept))
  tasks <- campaign$tasks
  mine <- unique(tasks[["task"]][tasks[["launch"]] == id & tasks[["host"]] == host & tasks[["group"]] == "agent"])
  if (nrow(bursts) > 0 && (length(mine) == 0 || !any(bursts$task %in% mine))) {
    if (!used_nothing(campaign$agents, id, host)) return("whose bursts they were is not recorded (root or CAP_PERFMON would tell)")
  }
  absolute_bursts(bursts[bursts$task %in% mine, ], attr(bursts, "keys"), file)
}

# By its own account, on ranks' CPUs: bursts of tasks that nobody could name are not the agent's then.
used_nothing <- function(agents, id, host) {
  cpu_ns <- agents[["agent_on_ranks_ns"]][agents[["launch"]] == id & agents[["host"]] == host]
  length(cpu_ns) > 0 && all(cpu_ns %in% 0)
}

bursts_of_generator <- function(dir, host) {
  file <- file.path(dir, paste0("generator.", host, ".trace"))
  if (!file.exists(file)) return("no bursts of the generator were recorded")
  bursts <- read_bursts(file)
  absolute_bursts(bursts, attr(bursts, "keys"), file)
}

# Bursts elsewhere cost no rank its CPU.
on_ranks <- function(bursts, campaign, id, host) {
  ranks <- campaign$ranks
  cpus <- unique(ranks[["cpu"]][ranks[["launch"]] == id & ranks[["host"]] == host])
  cpus <- cpus[!is.na(cpus) & cpus >= 0]
  if (length(cpus) == 0) return(bursts)
  bursts[is.na(bursts$cpu) | bursts$cpu %in% cpus, ]
}

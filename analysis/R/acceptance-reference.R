# What a reference knows: of each figure a bound of its own, the margin beyond it, and whether a run of a
# given length can decide it.

least_reference <- 5

# Launches of a reference while other tasks had this much of the CPU time say what a busy machine does: no
# machine could miss their limits.
busy_reference_percent <- 5

# Without the launches during which others were busy; `notes`: which these are, and that they are to be
# repeated; `busy`: too few are left (NA: enough).
quiet_launches <- function(reference) {
  units <- acceptance_units(reference)
  rows <- units[units$metric %in% c("preempted", "taken") & units$unit == "percent", ]
  if (nrow(rows) == 0) return(list(reference = reference, units = units, notes = NULL, busy = NA_character_))
  mean <- tapply(rows$x, list(paste(rows$entity, rows$metric), rows$launch), mean)
  worst <- apply(mean, 2, max, na.rm = TRUE)
  bad <- names(worst)[worst >= busy_reference_percent]
  if (length(bad) == 0) return(list(reference = reference, units = units, notes = NULL, busy = NA_character_))
  left <- setdiff(names(reference$launches), bad)
  words <- sprintf(
    paste0("other tasks used up to %s of a CPU during %s of the reference: repeat %s when the machine is ",
           "quiet (--wait-quiet 5min)"),
    format_figure(max(worst), "percent"),
    few_words(sprintf("launch %s", bad), 3),
    if (length(bad) == 1) "it" else "them"
  )
  if (length(left) < 2) {
    return(list(reference = reference, units = units, notes = paste("the reference passes nothing:", words),
                busy = words))
  }
  reference$launches <- reference$launches[left]
  reference$figures <- reference$figures[reference$figures$launch %in% left, ]
  list(reference = reference, units = units[units$launch %in% left, ],
       notes = paste0(words, "; ", if (length(bad) == 1) "it is" else "they are", " left out"),
       busy = NA_character_)
}

judge_reference <- function(acceptance, figures, reference, alpha, margins = margins_in_use()) {
  known_good <- quiet_launches(reference)
  reference <- known_good$reference
  learnt <- known_good$units
  busy <- known_good$busy
  sizes <- lapply(list(reference, acceptance), function(a) {
    sort(unique(vapply(a$launches, function(info) as.numeric(info$ranks), 0)))
  })
  other_size <- !identical(sizes[[1]], sizes[[2]])
  # Of all ranks together, or shared out among them: nothing to learn from another number of ranks.
  hangs <- function(rows) rows$of == "cluster" & rows$check != "completeness" |
    rows$metric %in% acceptance_measures$name[acceptance_measures$placed]
  if (other_size) learnt <- learnt[!hangs(learnt), ]
  learnt <- learnt[is_learnt(learnt), ]
  f <- figures[is_learnt(figures), ]
  key <- function(x) paste(x$check, x$variant, x$metric, x$size, sep = "\r")
  parts <- split(learnt, in_order(key(learnt)))
  known <- key(f) %in% names(parts)
  lacks <- f[!known & !(other_size & hangs(f)), ]
  lost <- setdiff(names(parts), key(f))
  notes <- c(
    known_good$notes,
    if (other_size) {
      sprintf(
        "the reference has %s ranks, this campaign %s: figures of all ranks together are not judged by it",
        format_range(sizes[[1]]), format_range(sizes[[2]])
      )
    },
    if (nrow(lacks) > 0) {
      sprintf("the reference lacks %s, not judged by it: %s", counted(nrow(lacks), "figure"),
              few_words(lacks$name, 4))
    },
    if (length(lost) > 0) {
      sprintf(
        "the reference has %s that were not measured here: %s",
        counted(length(lost), "figure"),
        few_words(
          unname(vapply(parts[lost], function(p) figure_name(cbind(p[1, figure_key], entity = "")), "")), 4
        )
      )
    }
  )
  f <- with_hidden_time(f[known, ], acceptance$others, least_hidden_percent(reference$others))
  if (nrow(f) == 0) return(list(notes = notes))
  days <- length(unique(substr(unlist(lapply(reference$launches, function(info) info$started_utc %||% "")), 1,
                               10)))
  design <- campaign_design(acceptance)
  power <- reference_power(parts[unique(key(f))], design, alpha, margins, check_seconds(reference), days,
                           n_figures = nrow(f))
  bound <- power[match(key(f), power$key), ]
  strict <- figure_bounds(f, alpha / nrow(f))
  above <- function(low, high, limit) against_limit(low, high, limit, bound$relation)
  verdict <- ifelse(is.na(bound$limit), "inconclusive", above(f$ci_low, f$ci_high, bound$nearer))
  verdict[verdict == "fail"] <- "inconclusive"
  fails <- !is.na(bound$limit) & bound$may_fail & above(strict$low, strict$high, bound$limit) == "fail" &
    above(f$ci_low, f$ci_high, bound$limit) == "fail"
  verdict[fails] <- "fail"
  # What no machine could miss is nothing to pass by.
  refused <- verdict == "pass" & (!is.na(busy) | !bound$may_miss)
  verdict[refused] <- "inconclusive"
  # What a run of this length does not decide for a healthy node either is not looked at, unless it fails
  # all the same.
  looked <- bound$decides | verdict == "fail" | is.na(bound$limit) | !bound$may_fail | !is.na(busy)
  reason <- ifelse(
    verdict != "inconclusive",
    NA_character_,
    ifelse(
      refused & !is.na(busy),
      busy,
      ifelse(
        !is.na(bound$reason) | !is.na(f$hidden),
        ifelse(is.na(bound$reason), f$hidden, bound$reason),
        paste0("its interval reaches beyond ", format_figure(bound$nearer, f$unit),
               ", the worst of the reference and the margin")
      )
    )
  )
  shown <- ifelse(verdict == "fail", bound$limit, bound$nearer)
  rows <- judgement_of(
    f, verdict, ci_low = ifelse(verdict == "fail", strict$low, f$ci_low),
    ci_high = ifelse(verdict == "fail", strict$high, f$ci_high), source = bound$source, kind = "reference",
    reason = reason,
    limit = ifelse(is.na(bound$limit) | refused, "", paste(bound$relation, format_figure(shown, f$unit)))
  )
  list(rows = rows_at(rows, which(looked)), power = power, notes = c(notes, power_note(power, design)),
       busy = busy)
}

is_learnt <- function(rows) about_measures(rows$check, rows$metric, "learnt")$learnt %in% TRUE

# How a campaign was made: launches, and repetitions and seconds of each check over all of them.
campaign_design <- function(acceptance) {
  list(launches = length(acceptance$launches), seconds = check_seconds(acceptance),
       repetitions = check_repetitions(acceptance))
}

# Of each check: repetitions over all launches, and their seconds.
check_repetitions <- function(acceptance) {
  rows <- acceptance$figures[!is.na(acceptance$figures$repetition), ]
  once <- rows[!duplicated(combine_keys(rows$launch, rows$check, rows$repetition)), ]
  tapply(once$repetition, once$check, length)
}

check_seconds <- function(acceptance) {
  rows <- acceptance$figures[!is.na(acceptance$figures$repetition), ]
  once <- rows[!duplicated(combine_keys(rows$launch, rows$check, rows$repetition)), ]
  tapply(ifelse(is.na(once$wall_ns), 0, once$wall_ns), once$check, sum) * 1e-9
}

# A healthy node passes all figures together with this probability at the planned length.
healthy_power <- 0.95

# A row per figure (all its nodes or pairs together): `limit` (the reference's own upper bound and the
# margin; NA: none), `nearer` (its worst value and the margin, where that is nearer: what passes keeps it),
# `relation`, `source`, `may_fail` (it is of several launches), `may_miss` (a machine could miss it),
# `reason`; and of a run of `design`: `decides` (a healthy node passes it with `healthy_power`, all
# `n_figures` together), `margin_percent` (in use; of shares `margin_points`), `needed` (margin from which
# such a run decides, in the same terms), `seconds` (of the check, from which the margin in use is decided;
# Inf: what differs between launches alone is more). `seconds`: of each check in the reference.
reference_power <- function(parts, design, alpha, margins, seconds, days = 1, n_figures = length(parts)) {
  bind_rows(lapply(names(parts), function(key) {
    part <- parts[[key]]
    about <- reference_bound(part, 1 - alpha, margins, days)
    check <- part$check[1]
    # what one repetition scatters, for as long as it took in the reference
    each_s <- if (isTRUE(seconds[check] > 0)) {
      seconds[[check]] / length(unique(combine_keys(part$launch, part$repetition)))
    } else {
      NA_real_
    }
    own_s <- if (isTRUE(design$seconds[check] > 0)) design$seconds[[check]] else NA_real_
    n <- if (is.na(each_s) || is.na(own_s)) {
      (design$repetitions[check] %na%
        length(unique(combine_keys(part$launch, part$repetition))))
    } else {
      own_s / each_s
    }
    df <- max(1, (design$repetitions[check] %na% n) - design$launches)
    z <- stats::qnorm(1 - (1 - healthy_power) / n_figures)
    reach <- function(times) {
      se <- sqrt(about$within / max(1, n * times))
      (stats::qt(1 - alpha / 2, max(1, df * times)) + z) * se + z * sqrt(about$between / design$launches)
    }
    border <- about$border
    needed <- reach(1)
    times <- 2^seq(-3, 10, by = 0.25)
    enough <- times[vapply(times, reach, 0) <= border]
    words <- function(x) {
      if (about$scale == "log") {
        100 * (if (part$worse[1] == "less") -expm1(-x) else expm1(x))
      } else {
        x
      }
    }
    data.frame(
      key = key,
      part[1, figure_key],
      unit = part$unit[1],
      about[c("limit", "nearer", "relation", "source", "may_fail", "may_miss", "reason")],
      decides = is.finite(needed) && needed <= border,
      margin = words(border),
      needed = words(needed),
      margin_unit = if (about$scale == "log") "percent" else part$unit[1],
      seconds = if (length(enough) == 0) {
        Inf
      } else {
        enough[1] * (own_s %else% NA_real_)
      },
      row.names = NULL
    )
  }))
}

`%na%` <- function(x, otherwise) if (length(x) == 1 && is.finite(x)) as.vector(x) else otherwise

# What is learnt of one figure: prediction bound of a new launch on a new node like these, on the side that
# is worse, and the margin beyond it.
reference_bound <- function(part, level, margins = margins_in_use(), days = 1) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  y <- to_scale(part$x, scale, worse)
  table <- unit_table(y, part$launch, part$entity)
  n <- sum(!is.na(table))
  is_one_launch <- nrow(table) < 2
  kind <- margin_kinds(part$check[1], part$metric[1])
  beyond <- function(at) {
    at + margin_of(margins, kind, from_scale(at, scale, worse), scale, worse, "reference_")
  }
  cell <- combine_keys(part$launch, part$entity)
  counts <- tabulate(code_of(cell))
  has_repetitions <- length(y) > length(counts)
  within <- if (has_repetitions) {
    sum((y - stats::ave(y, cell))^2) / (length(y) - length(counts))
  } else {
    NA_real_
  }
  s <- if (is_one_launch) {
    list(mean = mean(y), sd = stats::sd(y), n = length(y), df = length(y) - 1)
  } else {
    crossed_scatter(table)
  }
  if (!is.finite(s$sd)) s$sd <- 0
  agreed <- !(s$sd > 1e-12 * abs(s$mean))
  is_point <- agreed || s$df < 1
  upper <- s$mean + (if (is_point) 0 else stats::qt(level, s$df) * s$sd * sqrt(1 + 1 / s$n))
  worst <- max(table, na.rm = TRUE)
  nearer <- min(upper, worst)
  # what a launch's mean scatters less what its repetitions explain
  explained <- if (is.na(within)) 0 else within / mean(counts)
  between <- if (is_one_launch) 0 else max(0, s$sd^2 - explained)
  too_few <- length(y) < least_reference
  few <- n < least_reference && too_few || is_one_launch
  reason <- if (too_few) {
    sprintf("%d values of the reference are too few (%d are needed)", length(y), least_reference)
  } else if (agreed) {
    agree_exactly
  } else if (is_one_launch) {
    sprintf(paste("the reference has %s of 1 launch: what changes between launches is not in its bound",
                  "(two launches or more are needed)"), counted(length(y), "value"))
  } else {
    NA_character_
  }
  of <- if (is_one_launch) {
    "repetitions"
  } else if (part$of[1] == "cluster") {
    "launches"
  } else {
    paste0("launches x ", part$of[1], "s")
  }
  frame(limit = if (too_few) NA_real_ else from_scale(beyond(upper), scale, worse),
        nearer = from_scale(beyond(nearer), scale, worse), relation = if (worse == "more") "<=" else ">=",
        source = sprintf("reference, n = %d %s%s", if (is_one_launch) length(y) else n, of,
                         if (days == 1) " of one day" else ""),
        may_fail = !few && !agreed, may_miss = agreed || !is_one_launch, reason = reason, scale = scale,
        within = if (is.na(within)) s$sd^2 else within, between = between, border = beyond(nearer) - nearer)
}

agree_exactly <- "all values of the reference agree exactly"

# What a run of this length can decide by the reference, and what it would take for the rest.
power_note <- function(power, design) {
  part <- power[!is.na(power$limit) & power$may_fail, ]
  if (nrow(part) == 0) return(NULL)
  able <- part[part$decides, ]
  rest <- part[!part$decides, ]
  c(
    if (nrow(able) > 0) {
      sprintf("by this reference a run of this length decides: %s", few_words(unique(decided_words(able)), 8))
    },
    if (nrow(rest) > 0) {
      sprintf("not judged, as a run of this length does not decide it for a healthy node either: %s",
              few_words(unique(undecidable_words(rest)), 8))
    }
  )
}

decided_words <- function(rows) {
  name <- figure_quantity(rows)
  each <- split(rows, in_order(name))
  vapply(
    names(each),
    function(n) sprintf("%s from %s on", n, margin_text(max(each[[n]]$needed), each[[n]]$margin_unit[1])), ""
  )
}

undecidable_words <- function(rows) {
  name <- figure_quantity(rows)
  each <- split(rows, in_order(name))
  vapply(names(each), function(n) {
    r <- each[[n]]
    s <- max(r$seconds)
    sprintf(
      "%s (margin %s; from %s on%s)",
      n,
      margin_text(min(r$margin), r$margin_unit[1]),
      margin_text(max(r$needed), r$margin_unit[1]),
      if (is.finite(s)) {
        paste0(", or in ", format_span(s, 2), " of this check")
      } else {
        ""
      }
    )
  }, "")
}

margin_text <- function(x, unit) {
  ifelse(unit == "percent", paste(format_effect(x, FALSE), "%"), format_figure(x, unit))
}

# Random effects of launches (rows) and nodes (columns): mean and sd of a value of a new launch and node,
# how many independent values the mean is worth, and degrees of freedom (Satterthwaite). Mean squares below
# the residual one count as it.
crossed_scatter <- function(table) {
  a <- nrow(table)
  b <- ncol(table)
  if (b == 1) return(list(mean = mean(table), sd = stats::sd(table), n = a, df = a - 1))
  gaps <- is.na(table)
  mean <- mean(table, na.rm = TRUE)
  if (any(gaps)) {
    table[gaps] <- (outer(rowMeans(table, na.rm = TRUE), colMeans(table, na.rm = TRUE), `+`) - mean)[gaps]
  }
  row <- rowMeans(table)
  column <- colMeans(table)
  df <- c(a - 1, b - 1, (a - 1) * (b - 1) - sum(gaps))
  square <- c(b * stats::var(row), a * stats::var(column),
              sum((table - outer(row, column, `+`) + mean(table))^2) / max(1, df[3]))
  square[1:2] <- pmax(square[1:2], square[3])
  part <- square * c(1 / b, 1 / a, 1 - 1 / a - 1 / b)
  of_mean <- max((square[1] + square[2] - square[3]) / (a * b), max(square) / (a * b))
  total <- sum(part)
  if (!total > 0) return(list(mean = mean, sd = 0, n = a * b, df = a - 1))
  list(mean = mean, sd = sqrt(total), n = total / of_mean,
       df = total^2 / sum((part^2 / pmax(1, df))[part > 0]))
}

# Which nodes may be held against each other: those of the same hardware, and of figures that depend on the
# network, of the same switch.

# A row per node: `hardware` (CPU model, topology, CPUs), `network` (that and the switch: of the site's
# file, Slurm's topology, or clear groups of latencies), `by` (where classes come from; "": one class of
# all).
node_classes <- function(acceptance, units, site = NULL) {
  hosts <- acceptance$hosts
  if (!is.null(site)) {
    own <- site$class[match(seq_along(hosts), hosts_meant(site$host, hosts, "--classes"))]
    if (all(is.na(own))) {
      abort_usage("--classes: no node of this campaign has a class; they are ", few_words(hosts))
    }
    own[is.na(own)] <- "other"
    return(data.frame(host = hosts, hardware = own, network = own, by = "the file of classes"))
  }
  about <- host_facts(acceptance)
  at <- match(hosts, about$host)
  hardware <- about$hardware[at]
  hardware[is.na(hardware)] <- ""
  switch <- about$switch[at]
  by <- if (length(unique(hardware)) > 1) "hardware" else character()
  if (all(!is.na(switch)) && length(hosts) > 0) {
    by <- c(by, "Slurm's topology")
  } else {
    switch <- latency_groups(units, hosts)
    if (length(unique(switch)) > 1) by <- c(by, "groups in the latencies")
  }
  network <- if (length(unique(switch)) > 1) {
    trimws(paste(short_names(hardware), "switch", switch))
  } else {
    short_names(hardware)
  }
  data.frame(host = hosts, hardware = short_names(hardware), network = network,
             by = paste(by, collapse = " and "))
}

# Long words of hardware as A, B, ... in the order of the hosts; the same for all: "".
short_names <- function(words) if (length(unique(words)) < 2) rep("", length(words)) else
  paste0("hardware ", LETTERS[pmin(26, code_of(words))])

host_facts <- function(acceptance) {
  found <- unlist(lapply(unname(acceptance$launches), `[[`, "hosts"), recursive = FALSE)
  of <- function(name) vapply(found, function(h) show_json(h[[name]]), "")
  rows <- data.frame(host = of("host"),
                     hardware = paste(of("cpu_model"), of("topology"), of("cpus"), sep = ", "))
  said <- lapply(found, `[[`, "switch")
  rows$switch <- vapply(said, function(x) if (is_text(x) && nzchar(x)) printable(x) else NA_character_, "")
  rows[!duplicated(rows$host), ]
}

latency_groups <- function(units, hosts) {
  one <- rep(1, length(hosts))
  rows <- units[units$check == "latency" & units$of == "pair", ]
  if (nrow(rows) == 0 || length(hosts) < 4) return(one)
  rows <- rows[rows$variant == "between" & rows$size %in% min(rows$size), ]
  level <- tapply(log(rows$x), rows$entity, stats::median)
  order <- sort(level)
  gaps <- diff(order)
  if (length(gaps) == 0) return(one)
  at <- which.max(gaps)
  # Clear: wider than anything on either side of it together, and more than a few percent.
  if (gaps[at] < log(1.1) || gaps[at] < max(order[at] - order[1], order[length(order)] - order[at + 1])) {
    return(one)
  }
  ends <- pair_ends(names(order))
  below <- seq_along(order) <= at
  group <- joined_nodes(ends[below, , drop = FALSE], hosts)
  same <- group[match(ends[, 1], hosts)] == group[match(ends[, 2], hosts)]
  if (any(tabulate(group) < 2) || !identical(unname(same), below) || max(group) < 2) one else group
}

# Nodes that links join, directly or through others, have one number.
joined_nodes <- function(ends, hosts) {
  group <- seq_along(hosts)
  a <- match(ends[, 1], hosts)
  b <- match(ends[, 2], hosts)
  repeat {
    least <- pmin(group[a], group[b])
    before <- group
    for (end in list(a, b)) {
      lower <- tapply(least, end, min)
      k <- as.integer(names(lower))
      group[k] <- pmin(group[k], lower)
    }
    if (identical(group, before)) return(code_of(group))
  }
}

# The class of each column of a figure: of nodes by hardware, or by network where the place in it counts; of
# links that of both ends ("a x b" where they differ).
class_of_columns <- function(names, part, classes) {
  if (is.null(classes)) return(rep("", length(names)))
  if (part$of[1] == "pair") {
    ends <- pair_ends(names)
    of <- matrix(classes$network[match(ends, classes$host)], ncol = 2)
    return(ifelse(of[, 1] == of[, 2], of[, 1], paste(pmin(of[, 1], of[, 2]), "x", pmax(of[, 1], of[, 2]))))
  }
  classes[[class_of_check(part$check[1])]][match(names, classes$host)]
}

# One node whose links are all slower alike may as well be behind another switch: where nobody said what
# switches there are, neither its latency nor its bandwidth fails anybody.
doubt_unknown_switches <- function(comparisons, classes) {
  if (NROW(comparisons) == 0 || grepl("Slurm|file", classes$by[1])) return(comparisons)
  at <- comparisons$check == "latency" & comparisons$kind == "node" & comparisons$verdict == "fail"
  # the same links carry its bandwidth: it may fail where their latency is beyond doubt
  open <- comparisons$entity[
    comparisons$check == "latency" & comparisons$kind == "node" & comparisons$verdict != "pass"
  ]
  at <- at | comparisons$check == "bandwidth" & comparisons$kind == "node" & comparisons$verdict == "fail" &
      comparisons$entity %in% open
  comparisons$verdict[at] <- "inconclusive"
  comparisons$reason[
    at
  ] <- paste0("all its links are slower: the node's own fault, or a switch of its own, of which neither ",
              "Slurm's topology nor --classes says anything")
  comparisons
}

class_notes <- function(classes) {
  if (is.null(classes) || !any(nzchar(classes$by))) return(NULL)
  key <- paste(classes$hardware, classes$network)
  if (length(unique(key)) < 2) return(NULL)
  of <- split(classes$host, in_order(key))
  small <- of[lengths(of) < 3]
  c(
    sprintf("nodes are compared within %d classes (by %s): %s", length(of), classes$by[1],
            paste(vapply(of, few_words, "", 6), collapse = "; ")),
    if (length(small) > 0) {
      sprintf("%s: a class of fewer than three is judged by limits and a reference only",
              vapply(small, few_words, "", 6))
    }
  )
}

# Lines `CLASS NODE...`, with lists of nodes as Slurm writes them; # begins a comment.
read_classes <- function(file) {
  rows <- read_node_file(file, "--classes", twice = "has a class already", parse = function(line, i) {
    words <- strsplit(line, "[ \t]+")[[1]]
    if (length(words) < 2) abort_damaged(file, i, "'", printable(line), "' is not CLASS NODE...")
    data.frame(class = printable(words[1]), host = unlist(lapply(words[-1], nodes_of_word, file, i)))
  })
  if (NROW(rows) == 0) NULL else rows
}

# Lines NODE DATE REASON; NODE may be a list as Slurm writes it, and is left out from DATE (2026-01-31) on.
read_known_bad <- function(file) {
  read_node_file(file, "--known-bad", twice = "stands in the file already", parse = function(line, i) {
    part <- regmatches(line, regexec("^(\\S+)\\s+([0-9]{4}-[0-9]{2}-[0-9]{2})\\s+(\\S.*)$", line))[[1]]
    if (length(part) == 0 || is.na(as.Date(part[3], optional = TRUE))) {
      abort_damaged(file, i, "'", printable(line),
                    "' is not NODE DATE REASON (such as node7 2026-01-31 bad DIMM)")
    }
    data.frame(host = nodes_of_word(part[2], file, i), since = part[3], reason = printable(part[4]))
  })
}

# The campaign without these nodes: their figures, pairs and detours are not looked at. A data error of
# theirs is.
leave_out <- function(acceptance, known) {
  ended <- substr(last_end(acceptance), 1, 10)
  at <- hosts_meant(as.character(known$host), acceptance$hosts, "--known-bad")
  # of a cluster the campaign may be a part; of a name that is none nothing else would tell
  strange <- known$host[is.na(at)]
  if (length(strange) > 0) {
    acceptance$notes <- c(acceptance$notes,
                          sprintf("not in this campaign, of those known to be bad: %s", few_words(strange)))
  }
  known$host <- acceptance$hosts[at]
  known <- known[!is.na(at) & known$since <= ended, ]
  if (NROW(known) == 0) return(acceptance)
  f <- acceptance$figures
  peer <- if (is.null(f$peer_host)) "" else f$peer_host
  acceptance$figures <- f[f$check == "integrity" | !(f$host %in% known$host | peer %in% known$host), ]
  acceptance$hist <- acceptance$hist[!acceptance$hist$host %in% known$host, ]
  acceptance$hosts <- setdiff(acceptance$hosts, known$host)
  acceptance$left_out <- known$host
  acceptance$notes <- c(acceptance$notes,
                        sprintf("left out since %s: %s (%s)", known$since, known$host, known$reason))
  acceptance
}

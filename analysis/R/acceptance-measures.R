# What an acceptance campaign measures: one row per kind of figure, one per figure, and one per check.

# `worse`: the direction in which such a figure is worse; `scale`: on which differences are tested. As much
# worse still counts as the same: `percent` of the value that it is held against, at least `floor` (in
# `unit`): of nodes beside each other; `reference_percent` and `reference_floor` of a campaign against a
# reference, from which launches and days differ, too (docs/methods.md, Judging).
figure_kind <- function(kind, percent, floor, unit, what, worse = "more", scale = "log",
                        reference = c(percent, floor)) {
  data.frame(kind = kind, percent = percent, floor = floor, unit = unit, what = what, worse = worse,
             scale = scale, reference_percent = reference[1], reference_floor = reference[2])
}

acceptance_margins <- do.call(
  rbind,
  list(
    figure_kind("latency", 10, 50, "ns", "times of messages", reference = c(30, 100)),
    figure_kind("bandwidth", 10, 0, "bytes_per_s", "speeds", "less", reference = c(30, 0)),
    figure_kind("work", 3, 0, "ns", "times of a fixed amount of work", reference = c(10, 0)),
    figure_kind("share", 20, 0.2, "percent", "shares of time or of starts", scale = "linear",
                reference = c(20, 0.5)),
    figure_kind("rate", 50, 100, "per_s", "events per second", scale = "linear"),
    figure_kind("collective", 20, 1000, "ns", "times of collectives and what one node costs them",
                reference = c(50, 2000)),
    figure_kind("longest", 100, 1e5, "ns", "longest times and quantiles"),
    figure_kind("ratio", 5, 0.02, "ratio", "ratios", "less", reference = c(20, 0.05)),
    figure_kind(
      "scale", NA, 0, "percent",
      "what a node's noise would cost 1,000 such nodes that synchronise every 1 ms: of the program's time",
      scale = "linear"
    )
  )
)

# `of`: whose figure it is (cluster, node, pair); several values of a node in one repetition become one by
# `combine`. `compared`: node against node; `placed`: it depends on a node's place in the order of ranks;
# `learnt`: held against a reference, as one figure of many that say the same.
measure <- function(check, metric, kind, what, of, combine = "mean", compared = FALSE, placed = FALSE,
                    name = metric, scale = NULL, learnt = FALSE) {
  about <- acceptance_margins[match(kind, acceptance_margins$kind), ]
  data.frame(check = check, metric = metric, kind = kind, what = what, worse = about$worse,
             scale = if (is.null(scale)) about$scale else scale, unit = about$unit, of = of,
             combine = combine, compared = compared, placed = placed, name = name, learnt = learnt)
}

# Quantiles of a node's detours, from its merged histogram: one value per launch.
detour_quantiles <- c(p50 = 0.5, p90 = 0.9, p99 = 0.99, p99.9 = 0.999, p99.99 = 0.9999, p99.999 = 0.99999)

acceptance_measures <- do.call(
  rbind,
  list(
    measure("latency", "half_round_trip", "latency", "half a round trip", "pair", compared = TRUE,
            learnt = TRUE),
    measure("bandwidth", "one_way", "bandwidth", "bandwidth, one way at a time", "pair", compared = TRUE,
            learnt = TRUE),
    measure("bandwidth", "two_way", "bandwidth", "bandwidth, both ways at once", "pair", compared = TRUE,
            learnt = TRUE),
    measure("opcost", "published", "collective", "cost of an operation, timer and barrier taken out",
            "cluster", scale = "linear"),
    measure("opcost", "synchronised", "collective", "time of an operation, synchronised starts", "cluster"),
    measure("opcost", "synchronised_p50", "collective", "median time of an operation, synchronised starts",
            "cluster", learnt = TRUE),
    measure("opcost", "clock_cost", "collective", "cost of reading the timer (DT)", "cluster"),
    measure("opcost", "barrier_cost", "collective", "cost of a barrier (DB)", "cluster"),
    measure("completeness", "coefficient", "ratio", "completeness coefficient F_e", "cluster", learnt = TRUE),
    measure("completeness", "link_speed", "bandwidth", "speed of one pair alone (S)", "cluster"),
    measure("completeness", "exchange", "collective", "exchange of all with all (T_e)", "cluster"),
    measure("completeness", "own_exchange", "collective", "a node's part in the exchange of all with all",
            "node", compared = TRUE, placed = TRUE),
    measure("topology", "total", "bandwidth", "bandwidth over all channels", "cluster"),
    measure("topology", "per_channel", "bandwidth", "bandwidth of a channel", "cluster", learnt = TRUE),
    measure("quantum", "lost", "share", "time lost by a fixed-work quantum", "node", compared = TRUE,
            learnt = TRUE),
    measure("quantum", "quantum", "work", "time of a fixed-work quantum", "node", compared = TRUE,
            learnt = TRUE),
    measure("quantum", "preempted", "share", "CPU time taken by others", "node"),
    measure("quantum", "steal", "share", "taken by the hypervisor", "node"),
    measure("detour", "lost", "share", "time lost in detours", "node", compared = TRUE, learnt = TRUE),
    measure("detour", "lost", "share", "time lost in detours, worst CPU", "node", "max", compared = TRUE,
            name = "lost_worst_cpu"),
    measure("detour", "detours", "rate", "detours per second of a CPU", "node"),
    measure("detour", "longest", "longest", "longest detour", "node", "max"),
    measure("detour", "base", "work", "a turn of the clock loop", "node", compared = TRUE, learnt = TRUE),
    measure("detour", "preempted", "share", "CPU time taken by others", "node"),
    measure("detour", "steal", "share", "taken by the hypervisor", "node"),
    measure("detour", names(detour_quantiles), "longest",
            paste(100 * detour_quantiles, "% of the detours are below"), "node"),
    measure("collective", "p50", "collective", "median time, synchronised starts", "cluster", learnt = TRUE),
    measure("collective", "p99", "longest", "99 % of the times are below", "cluster"),
    measure("collective", "p99.9", "longest", "99.9 % of the times are below", "cluster"),
    measure("collective", "mean", "collective", "mean time, synchronised starts", "cluster"),
    measure("collective", "longest", "longest", "longest time", "cluster"),
    measure("collective", "above_twice_median", "share", "share of time above twice the median", "cluster"),
    measure("collective", "late_starts", "share", "starts that were late", "cluster"),
    measure("collective", "last_start", "share", "starts in which the node was last", "node", "sum"),
    measure("collective", "last_end", "share", "starts that the node ended last", "node", "sum"),
    measure("collective", "last_start_cost", "collective", "what the node's late starts cost, per start",
            "node", "sum", scale = "linear"),
    measure("collective", "last_end_cost", "collective", "what the node's late ends cost, per start", "node",
            "sum", compared = TRUE, placed = TRUE, scale = "linear"),
    measure("others", "taken", "share", "CPU time that other tasks took", "node", compared = TRUE,
            learnt = TRUE),
    measure("others", "waited", "share", "time that ranks waited for their CPUs, whole launch", "node"),
    measure("scale", "slowdown", "share", "slowdown of many such nodes", "node"),
    measure("kernels", "time", "work", "time of a load kernel", "cluster", learnt = TRUE)
  )
)

figure_key <- c("check", "variant", "metric", "size")
unit_key <- c(figure_key, "unit", "of", "entity", "launch", "repetition")

one_unit <- data.frame(check = "", variant = "", metric = "", size = NA_real_, unit = "", of = "",
                       entity = "", launch = "", repetition = 1, x = 1, n_values = 1, trials = 0,
                       place = NA_real_, what = "", worse = "more", scale = "linear", compared = FALSE,
                       placed = FALSE)

# The figures by unit: one row per measure, variant, size, entity (node, pair or "" for all), launch and
# repetition. `x` is the value in `unit`; `place` the node's place in the order of its launch.
acceptance_units <- function(acceptance) {
  rows <- acceptance$figures
  by_group <- rows$check %in% checks_with("sized", "ranks")
  rows$size <- ifelse(!by_group, rows$bytes,
                      ifelse(rows$check == "completeness" & rows$variant == "nodes", rows$nodes, rows$ranks))
  rows <- rows_at(rows, which(!is.na(rows$repetition)))
  own <- split(seq_len(nrow(rows)), list(paste(rows$check, rows$metric)))
  got <- bind_rows(lapply(seq_len(nrow(acceptance_measures)), function(i) {
    m <- lapply(acceptance_measures, `[`, i)
    at <- own[[paste(m$check, m$metric)]]
    if (length(at) == 0) return(NULL)
    part <- rows_at(rows, at)
    of <- if (m$of == "pair") ifelse(part$host == part$peer_host, "node", m$of) else rep(m$of, length(at))
    part$of <- of
    part$entity <- ifelse(of == "cluster", "",
                          ifelse(of == "node", part$host, pair_name(part$host, part$peer_host)))
    part$metric <- m$name
    group <- code_of(do.call(combine_keys, unname(unclass(part)[unit_key])))
    one <- rows_at(unclass(part)[c(unit_key, "node")], which(!duplicated(group)))
    one$n_values <- tabulate(group)
    one$x <- combined(part$value, group, m$combine)
    # ranks of a node share its starts; CPUs each have turns of their own
    trials <- ifelse(is.na(part$n), 0, part$n)
    one$trials <- combined(trials, group, if (m$combine == "sum") "max" else "sum")
    names(one)[names(one) == "node"] <- "place"
    if (m$name == "lost_worst_cpu") one[one$n_values > 1, ] else one
  }))
  if (NROW(got) == 0) return(quantile_units(acceptance) %||% one_unit[0, ])
  bind_rows(list(cbind(got, about_measures(got$check, got$metric)), quantile_units(acceptance)))
}

about_measures <- function(check, name, columns = c("what", "worse", "scale", "compared", "placed")) {
  rows <- acceptance_measures[
    match(paste(check, name), paste(acceptance_measures$check, acceptance_measures$name)), columns,
    drop = FALSE
  ]
  rownames(rows) <- NULL
  rows
}

combined <- function(x, group, how) {
  if (length(x) == max(group)) return(x[order(group)])
  if (how == "max") return(x[order(group, x)][cumsum(tabulate(group))])
  as.vector(rowsum(x, group)) / (if (how == "mean") tabulate(group) else 1)
}

# Whichever end was written first.
pair_name <- function(a, b) ifelse(a < b, paste(a, b, sep = " - "), paste(b, a, sep = " - "))
pair_ends <- function(pair) do.call(rbind, strsplit(pair, " - ", fixed = TRUE))

# Detours of each node, CPUs merged, per launch.
node_histograms <- function(acceptance) {
  hist <- as.data.frame(acceptance$hist)
  hist <- hist[hist$check %in% checks_with("scan", "yes") & nzchar(hist$host), ]
  if (nrow(hist) == 0) return(NULL)
  by <- c("launch", "check", "variant", "metric", "host", "lo_ns", "hi_ns")
  group <- code_of(row_key(hist, by))
  merged <- hist[!duplicated(group), by]
  merged$count <- rowsum(hist$count, group)[, 1]
  rownames(merged) <- NULL
  merged
}

quantile_units <- function(acceptance) {
  hist <- node_histograms(acceptance)
  hist <- hist[hist$check == "detour", ]
  if (NROW(hist) == 0) return(NULL)
  bind_rows(lapply(split(hist, in_order(paste(hist$launch, hist$variant, hist$host))), function(part) {
    # A quantile beyond the data is only their maximum.
    known <- sum(part$count) * (1 - detour_quantiles) >= 1
    if (!any(known)) return(NULL)
    p <- detour_quantiles[known]
    data.frame(check = "detour", variant = part$variant[1], metric = names(p), size = NA_real_, unit = "ns",
               of = "node", entity = part$host[1], launch = part$launch[1], repetition = NA_real_,
               x = hist_quantile(part$lo_ns, part$hi_ns, part$count, p), n_values = sum(part$count),
               trials = sum(part$count), place = NA_real_, about_measures("detour", names(p)))
  }))
}

# How long CPUs were watched by the scans of a node, one row per check, variant, node, launch and
# repetition: `seconds` of all its CPUs (turns of the loop, or quanta, times what one takes), `bursts`:
# scans whose longest interruption was a fifth of `burst_ns` or more.
watched_time <- function(acceptance) {
  rows <- acceptance$figures
  rows <- rows[rows$check %in% checks_with("scan", "yes") & !is.na(rows$repetition), ]
  turn <- rows[rows$metric == c(detour = "base", quantum = "quantum")[rows$check] & !is.na(rows$n), ]
  if (nrow(turn) == 0) return(NULL)
  long <- rows[rows$check == "detour" & rows$metric == "longest", ]
  key <- function(x) paste(x$check, x$variant, x$host, x$launch, x$repetition, x$cpu, sep = "\r")
  longest <- ifelse(turn$check == "quantum", if (is.null(turn$max)) NA else turn$max,
                    long$value[match(key(turn), key(long))])
  turn$seconds <- turn$value * turn$n * 1e-9
  turn$bursts <- as.numeric(!is.na(longest) & longest >= burst_ns / 5)
  by <- c("check", "variant", "host", "launch", "repetition")
  group <- code_of(row_key(turn, by))
  bind_rows(list(
    data.frame(turn[!duplicated(group), by], rowsum(turn[c("seconds", "bursts")], group), row.names = NULL),
    recorded_time(acceptance$others)
  ))
}

# The same of the records of who ran, which see the bursts of other tasks during a whole launch: `check` is
# `others`.
recorded_time <- function(others) {
  bind_rows(lapply(known_others(others), function(o) {
    if (o$source == "proc" || !o$is_whole) return(NULL)
    long <- o$lengths$seconds >= burst_ns * 1e-9 / 5
    data.frame(check = "others", variant = "", host = o$host, launch = o$launch, repetition = 1,
               seconds = o$span_s * o$n_cpus, bursts = sum(o$lengths$n[long]))
  }))
}

# Seconds that all checks were measured, over all launches.
measured_seconds <- function(acceptance) {
  # who ran is recorded meanwhile
  rows <- acceptance$figures[!is.na(acceptance$figures$repetition) & acceptance$figures$check != "others", ]
  sum(rows$wall_ns[!duplicated(combine_keys(rows$launch, rows$check, rows$repetition))], na.rm = TRUE) * 1e-9
}

to_scale <- function(x, scale, worse) (if (scale == "log") log(x) else x) * (if (worse == "less") -1 else 1)
from_scale <- function(x, scale, worse) {
  x <- x * (if (worse == "less") -1 else 1)
  if (scale == "log") exp(x) else x
}

usable_scale <- function(part) if (part$scale[1] == "log" && all(part$x > 0)) "log" else "linear"

# detour.alone.lost.node2: the stable name of a figure; text of other characters becomes _.
figure_name <- function(rows) {
  size <- ifelse(is.na(rows$size), "", paste0(".", format_count(rows$size)))
  entity <- gsub("[^A-Za-z0-9_.+-]+", "_", sub(" (-|->) ", "--", rows$entity))
  paste0(rows$check,
         ifelse(nzchar(rows$variant), paste0(".", gsub("[^A-Za-z0-9_.+-]", "-", rows$variant)), ""), ".",
         rows$metric, size, ifelse(nzchar(entity), paste0(".", entity), ""))
}

# The longest interruption that is looked for: time that bursts of this length could take without one being
# seen belongs to the bound of a share.
burst_ns <- 50e6

margin_kinds <- function(check, metric) about_measures(check, metric, "kind")$kind

# The table with what the user said: `percent` for all kinds (NULL: each its own), and rows of a limits file
# (`kind`, `percent`, `floor`; NA: as it is).
margins_in_use <- function(percent = NULL, own = NULL) {
  table <- acceptance_margins[c("kind", "percent", "floor", "unit", "what", "reference_percent",
                                "reference_floor")]
  if (!is.null(percent)) table[c("percent", "reference_percent")] <- percent
  at <- match(own$kind, table$kind)
  table[at, c("percent", "reference_percent")] <- own$percent
  for (floor in c("floor", "reference_floor")) {
    table[[floor]][at] <- ifelse(is.na(own$floor), table[[floor]][at], own$floor)
  }
  table
}

# The margin of figures in `unit`, against the values they are held against. On a logarithmic scale a
# difference of logarithms. `of`: "reference_": of a campaign against its reference.
margin_of <- function(margins, kind, against, scale, worse, of = "") {
  at <- match(kind, margins$kind)
  scale <- rep_len(scale, length(against))
  worse <- rep_len(worse, length(against))
  size <- abs(against)
  allowed <- pmax(margins[[paste0(of, "percent")]][at] / 100 * size, margins[[paste0(of, "floor")]][at])
  # less is worse: the value may fall to value - allowed
  log_allowed <- ifelse(worse == "less", -log(pmax(1e-9, 1 - allowed / size)), log1p(allowed / size))
  ifelse(scale == "log", log_allowed, allowed)
}

margins_note <- function(margins, kinds) {
  shown <- margins[margins$kind %in% kinds & !is.na(margins$percent), ]
  if (nrow(shown) == 0) return(NULL)
  paste0(
    "margins (--margin, or a line `margin KIND PERCENT % [FLOOR UNIT]` of the limits): ",
    paste0(shown$kind, " ", format_effect(shown$percent, FALSE), " %",
           ifelse(shown$floor > 0, paste(", at least", format_figure(shown$floor, shown$unit)), ""),
           collapse = "; ")
  )
}

# `margin KIND PERCENT % [FLOOR UNIT]` of a limits file.
parse_margin <- function(text, file, line) {
  part <- regmatches(text,
                     regexec("^margin\\s+(\\S+)\\s+([0-9.]+)\\s*%(\\s+([0-9.]+)\\s*(\\S+))?$", text))[[1]]
  if (length(part) == 0) {
    abort_damaged(file, line, "'", printable(text),
                  "' is not margin KIND PERCENT % [FLOOR UNIT] (such as margin share 20 % 0.2 percent)")
  }
  row <- acceptance_margins[acceptance_margins$kind == part[2], ]
  if (nrow(row) == 0) {
    abort_damaged(file, line, "unknown kind of figure '", printable(part[2]), "'",
                  did_you_mean(part[2], acceptance_margins$kind))
  }
  floor <- if (nzchar(part[6])) {
    as.numeric(part[5]) * limit_unit(part[6], row$unit, part[2], file, line)
  } else {
    NA_real_
  }
  data.frame(line = line, kind = part[2], percent = as.numeric(part[3]), floor = floor)
}

# How many of the figure's own unit one is.
limit_unit <- function(text, unit, of, file, line) {
  units <- limit_units[[unit]]
  if (!text %in% names(units)) {
    abort_damaged(file, line, "unknown unit '", printable(text), "' of ", of,
                  did_you_mean(text, names(units)))
  }
  units[[text]]
}

# pass: the bound is below the margin; fail: it lies above when all comparisons are counted; else open.
# `score`: more is worse, on the scale of tests.
three_outcomes <- function(upper, margin, p_holm, alpha) {
  verdict <- ifelse(!is.na(upper) & upper < margin, "pass", "inconclusive")
  ifelse(!is.na(p_holm) & p_holm <= alpha, "fail", verdict)
}

# How many times as long decides: what time cannot make smaller (`fixed`, a variance) stays, the rest
# (`se`^2 - `fixed`) falls with time.
times_as_long <- function(score, margin, se, df, fixed, alpha) {
  reach <- abs(margin - score) / stats::qt(1 - alpha, df)
  left <- reach^2 - fixed
  ifelse(left > 0, pmax(1, (se^2 - fixed) / left), Inf)
}

# Limits that users set: one a line, `check[.variant].metric[ SIZE] <= VALUE UNIT`. None is built in.

limit_units <- list(
  ns = c(ns = 1, us = 1e3, ms = 1e6, s = 1e9),
  bytes_per_s = c("B/s" = 1, "kB/s" = 1e3, "MB/s" = 1e6, "GB/s" = 1e9, "KiB/s" = 1024, "MiB/s" = 1024^2,
                  "GiB/s" = 1024^3),
  percent = c(percent = 1, "%" = 1),
  per_s = c(per_s = 1, "/s" = 1),
  ratio = c(ratio = 1)
)
limit_sizes <- c(B = 1, KiB = 1024, MiB = 1024^2, GiB = 1024^3)

limit_keys <- function() acceptance_measures[acceptance_measures$check != "scale", ]

# Limits of a file, a row each: `line`, `check`, `variant` and `size` (NA: all), `metric`, `relation`,
# `limit` (in the figure's unit), `text`; attribute `margins`. Signals `nl_error_damaged` with file and line
# of all that is unknown, a line each.
read_limits <- function(file) {
  lines <- lines_of_option(file, "--limits")
  is_margin <- grepl("^margin\\s", lines)
  # All that is wrong is said at once: a file is not corrected line by line and run by run.
  wrong <- character()
  parsed <- function(at, parse) {
    bind_rows(lapply(at, function(i) {
      tryCatch(parse(lines[i], file, i), nl_error = function(e) {
        wrong[as.character(i)] <<- conditionMessage(e)
        NULL
      })
    }))
  }
  margins <- parsed(which(is_margin), parse_margin)
  rows <- parsed(which(nzchar(lines) & !is_margin), parse_limit)
  if (NROW(rows) > 0) {
    for (i in rows$line[duplicated(rows[c("check", "variant", "metric", "size", "relation")])]) {
      wrong[as.character(i)] <- sprintf("%s:%d: this limit was set before", file, i)
    }
  }
  if (length(wrong) > 0) {
    nl_abort(c("nl_error_several", "nl_error_damaged"),
             paste(wrong[order(as.integer(names(wrong)))], collapse = "\n"))
  }
  structure(rows, margins = if (NROW(margins) > 0) margins)
}

parse_limit <- function(text, file, line) {
  stop_here <- function(...) abort_damaged(file, line, ...)
  part <- regmatches(text,
                     regexec("^(\\S+)(\\s+[0-9]\\S*)?\\s*(<=|>=)\\s*([0-9.eE+-]+)\\s*(\\S+)$", text))[[1]]
  if (length(part) == 0) {
    stop_here(
      "'", printable(text),
      "' is not check[.variant].metric[ SIZE] <= VALUE UNIT (try noiselab analyze acceptance --write-limits)"
    )
  }
  keys <- limit_keys()
  check <- sub("\\..*", "", part[2])
  if (!check %in% keys$check) {
    stop_here("unknown check '", printable(check), "'", did_you_mean(check, unique(keys$check)))
  }
  rest <- substring(part[2], nchar(check) + 2)
  own <- keys[keys$check == check, ]
  fits <- own[own$name == rest | endsWith(rest, paste0(".", own$name)), ]
  if (nrow(fits) == 0) {
    stop_here("unknown figure '", printable(rest), "' of ", check, did_you_mean(rest, own$name))
  }
  key <- fits[which.max(nchar(fits$name)), ]
  variant <- if (rest == key$name) NA_character_ else substring(rest, 1, nchar(rest) - nchar(key$name) - 1)
  # grids have their shape behind the name: grid2d:4x2
  if (
    !is.na(variant) && !sub("^(grid[23]d):[0-9]+(x[0-9]+)+$", "\\1", variant) %in%
        acceptance_checks[[check]]$variants
  ) {
    stop_here("unknown variant '", printable(variant), "' of ", check,
              did_you_mean(variant, acceptance_checks[[check]]$variants))
  }
  size <- if (nzchar(part[3])) {
    scaled_option(stripped(part[3]), limit_sizes, paste0(file, ":", line, ": '", printable(stripped(part[3])),
                                                       "' is not a size (try 8, 64KiB)"))
  } else NA_real_
  unit <- limit_unit(part[6], key$unit, paste0(key$check, ".", key$name), file, line)
  value <- suppressWarnings(as.numeric(part[5]))
  if (!is.finite(value)) stop_here("'", printable(part[5]), "' is not a number that can be a limit")
  wanted <- if (key$worse == "more") "<=" else ">="
  if (part[4] != wanted) {
    stop_here(key$check, ".", key$name, " ", part[4], ": the limit is on the wrong side, ", key$worse,
              " is worse (write ", wanted, ")")
  }
  data.frame(line = line, check = check, variant = variant, metric = key$name, size = size,
             relation = part[4], limit = value * unit, text = paste(part[4], part[5], part[6]))
}

# A commented template; with a judged campaign its figures stand beside.
limits_template <- function(judged = NULL) {
  keys <- limit_keys()
  measured <- judged$figures
  lines <- unlist(lapply(unique(keys$check), function(check) {
    own <- keys[keys$check == check, ]
    c(
      "",
      paste0("# ---- ", check, ": ", own$unit[1], " ----"),
      unlist(lapply(seq_len(nrow(own)), function(i) {
        k <- own[i, ]
        relation <- if (k$worse == "more") "<=" else ">="
        got <- measured[measured$check == k$check & measured$metric == k$name, ]
        if (NROW(got) == 0) {
          return(sprintf(
            "# %s.%s %s VALUE %s   # %s",
            k$check,
            k$name,
            relation,
            names(limit_units[[k$unit]])[1],
            k$what
          ))
        }
        worst <- got[order(got$value * (if (k$worse == "more") -1 else 1)), ]
        worst <- worst[!duplicated(paste(worst$variant, worst$size)), ]
        worst <- worst[order(worst$variant, worst$size), ]
        sprintf(
          "# %s%s.%s%s %s VALUE %s   # %s; measured here: %s %s%s",
          k$check,
          ifelse(nzchar(worst$variant), paste0(".", worst$variant), ""),
          k$name,
          ifelse(is.na(worst$size), "", paste0(" ", format_count(worst$size))),
          relation,
          names(limit_units[[k$unit]])[1],
          k$what,
          signif(worst$value, 4),
          worst$unit,
          ifelse(nzchar(worst$entity), paste0(" (", worst$entity, ")"), "")
        )
      }))
    )
  }))
  c(
    paste0("# Limits for noiselab analyze acceptance --limits. Nothing here is active: take away the # of a ",
           "line and put your own VALUE."),
    paste0("# check[.variant].metric[ SIZE] <= VALUE UNIT; without variant or size the limit is of all of ",
           "them. A limit is kept when the whole"),
    "# confidence interval of a figure keeps it. Words that arrive wrong fail in any case.",
    paste0("# By how much a node may be worse than the others, by kind of figure: margin KIND PERCENT % ",
           "[FLOOR UNIT]. These are noiselab's own:"),
    paste0(
      "# margin ",
      acceptance_margins$kind,
      " ",
      ifelse(is.na(acceptance_margins$percent), "VALUE", acceptance_margins$percent),
      " % ",
      format(acceptance_margins$floor, scientific = FALSE, trim = TRUE, drop0trailing = TRUE),
      " ",
      vapply(limit_units[acceptance_margins$unit], function(u) names(u)[1], ""),
      "   # ",
      acceptance_margins$what
    ),
    paste0("# Units: ",
           paste(vapply(limit_units, function(u) paste(names(u), collapse = " "), ""), collapse = "; "), "."),
    lines
  )
}

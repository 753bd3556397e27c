# Why it got slower: hardware counters by arm, beside the channels.

# What is looked at: LIKWID's names differ between processors. `add`: traffic of all threads is one traffic.
counter_figures <- list(
  clock = list(name = "clock frequency", unit = "MHz", metric = "^Clock \\[MHz\\]$", add = FALSE),
  cpi = list(name = "cycles per instruction", unit = "", metric = "^CPI$", add = FALSE),
  l2 = list(name = "L2 traffic", unit = "MBytes/s", metric = "^L2 (D )?bandwidth \\[MBytes/s\\]$",
            add = TRUE),
  l3 = list(name = "L3 traffic", unit = "MBytes/s", metric = "^L3 (access )?bandwidth \\[MBytes/s\\]$",
            add = TRUE),
  memory = list(name = "memory traffic", unit = "MBytes/s",
                metric = "^Memory (read |write )?bandwidth( \\(channels 0-3\\))? \\[MBytes/s\\]$", add = TRUE)
)

# When a difference between arms is a cause, in percent (docs/methods.md says why these).
lower_clock_percent <- 2     # the clock is lower by so much, and that is ...
more_traffic_percent <- 10   # traffic is higher by so much, and ...
more_cycles_percent <- 2     # ... an instruction takes so many more cycles
share_of_slowdown <- 0.25    # ... at least this share of the slowdown; preempted time, too

# What LIKWID counted in the detector's regions (`likwid*.csv`), each arm against `off`, and with what the
# channels say of it why it got slower. Thresholds: above. Cycles per instruction alone are no cause: ranks
# that wait spin. Gives a list: `changes`, a data frame, one row per operation, size, arm and figure:
# `operation`, `bytes`, `arm`, `figure` (`clock`, `cpi`, `l2`, `l3`, `memory`), `unit`, `off`, `on` (mean
# over launches; of threads the mean, of traffic the sum), `change_percent` with `ci_low`, `ci_high`
# (confidence 1 - alpha over launches; NA of one launch), `n_launches`; `causes`, one row per operation,
# size and arm: `slowdown_percent`, `preempted_percent`, `base_percent` (of the channels; NA: not measured),
# `clock_percent`, `cpi_percent`, `l2_percent`, `l3_percent`, `memory_percent` (changes), `cause` (words
# joined by ` + `, with `hint: ` before one whose interval does not say so; `not slower`, `unexplained`,
# `too little is known`), `why`; `files`, `notes`, `alpha`. NULL where no launch has such a file.
counters_by_arm <- function(analysis) {
  files <- counter_files(analysis$campaign)
  if (nrow(files) == 0) return(NULL)
  arms <- counter_arms(analysis)
  read <- lapply(seq_len(nrow(files)), function(i) {
    table <- read_likwid(files$file[i])
    rows <- figures_of(table, files$file[i])
    if (nrow(rows) > 0) rows[c("launch", "file")] <- files[i, c("launch", "file")]
    list(rows = rows, notes = counter_notes(table, rows, files$file[i]))
  })
  rows <- bind_rows(lapply(read, `[[`, "rows"))
  notes <- unlist(lapply(read, `[[`, "notes"))
  if (nrow(rows) == 0) {
    abort_data("no figure of ", join_words(files$file),
               " is known: measure a group such as CLOCK, L2, L3 or MEM")
  }
  placed <- place_regions(rows, arms, analysis)
  changes <- counter_changes(placed$rows, analysis$alpha)
  if (nrow(changes) == 0) {
    abort_data("no marker region of ", join_words(files$file),
               " belongs to an arm that has an off region beside it (OPERATION[_BYTES]:ARM)")
  }
  structure(
    list(changes = changes, causes = counter_causes(changes, analysis), files = files$file,
         notes = unique(c(notes, placed$notes)), alpha = analysis$alpha),
    class = "nl_counters"
  )
}

counter_files <- function(campaign) {
  parts <- lapply(names(campaign$paths), function(id) {
    files <- list.files(campaign$paths[[id]], "^likwid.*\\.csv$", full.names = TRUE)
    data.frame(launch = rep(id, length(files)), file = files)
  })
  files <- bind_rows(parts)
  if (NROW(files) == 0) data.frame(launch = character(), file = character()) else files
}

# The regions' names of the arms: `label` is operation[_bytes], `arm` as the detector writes it, `kind` and
# `level` of the treatment in the launch.
counter_arms <- function(analysis) {
  time <- analysis$verdicts[analysis$verdicts$channel == "time", ]
  factors <- setdiff(varying_factors(analysis$treatments), "kind")
  external <- !has_level(time$level_requested_percent)
  base <- ifelse(external, sub("@.*$", "", time$kind),
                 paste0(time$kind, "_", format_level(time$level_requested_percent)))
  longer <- vapply(seq_len(nrow(time)), function(i) {
    paste(c(base[i], if (!external[i]) vapply(factors, function(name) as.character(time[[name]][i]), "")),
          collapse = "_")
  }, "")
  data.frame(label = region_label(time), arm = longer, row = seq_len(nrow(time)), launch = time$launch)
}

region_label <- function(rows) {
  paste0(rows$operation, ifelse(rows$bytes > 0, paste0("_", format_count(rows$bytes)), ""))
}

# One row per region and figure: traffic summed over threads, the rest averaged.
figures_of <- function(table, file) {
  parts <- lapply(names(counter_figures), function(name) {
    figure <- counter_figures[[name]]
    rows <- table[grepl(figure$metric, table$metric) & !is.na(table$value), ]
    if (nrow(rows) == 0) return(NULL)
    # A total beside its parts stands for them.
    total <- !grepl("read|write", rows$metric)
    if (any(total)) rows <- rows[total, ]
    key <- paste(rows$region, rows$group, sep = "\r")
    bind_rows(lapply(split(rows, in_order(key)), function(part) {
      data.frame(region = part$region[1], figure = name,
                 value = if (figure$add) sum(part$value) else mean(part$value))
    }))
  })
  rows <- bind_rows(Filter(Negate(is.null), parts))
  if (nrow(rows) == 0) return(rows)
  # The clock is in every group: the groups of a region are averaged.
  stats::aggregate(value ~ region + figure, rows, mean)
}

counter_notes <- function(table, rows, file) {
  lacking <- setdiff(unique(table$region), rows$region)
  c(
    sprintf(
      "%s: region %s has raw counts only, no metrics: measure a performance group (likwid-perfctr -g CLOCK)",
      file, attr(table, "raw_only")
    ),
    sprintf("%s: region %s has none of the figures looked at", file, lacking)
  )
}

# Regions to operations and arms; what belongs to none is said.
place_regions <- function(rows, arms, analysis) {
  labels <- unique(arms$label)
  labels <- labels[order(-nchar(labels))]
  rows$label <- rows$arm <- NA_character_
  for (label in labels) {
    mine <- is.na(rows$label) & startsWith(rows$region, paste0(label, ":"))
    rows$label[mine] <- label
    rows$arm[mine] <- substring(rows$region[mine], nchar(label) + 2)
  }
  # An agent at several intervals is several arms, told apart by their launches.
  interval <- vapply(analysis$campaign$launches, interval_of, 0)
  swept <- is_sweep(analysis$campaign)
  named <- sub("@.*$", "", as.character(analysis$treatments$kind[analysis$treatments$pattern %in% no_word]))
  at <- which(swept & rows$arm %in% named & !is.na(interval[rows$launch]))
  rows$arm_name <- rows$arm
  rows$arm_name[at] <- paste0(rows$arm[at], "@", vapply(interval[rows$launch[at]] / 1e9, option_time, ""))
  known <- !is.na(rows$arm) &
    (rows$arm == "off" | paste(rows$label, rows$arm) %in% paste(arms$label, arms$arm))
  odd <- unique(rows$region[!known])
  list(
    rows = rows[known, ],
    notes = sprintf("marker region %s is of no operation and arm of this campaign: left out", printable(odd))
  )
}

# Each arm against the off region of its file; the launch is the unit.
counter_changes <- function(rows, alpha) {
  key <- function(x) paste(x$file, x$label, x$figure, sep = "\r")
  off <- rows[rows$arm == "off", ]
  on <- rows[rows$arm != "off", ]
  on$off <- off$value[match(key(on), key(off))]
  on <- on[!is.na(on$off) & on$off > 0, ]
  if (nrow(on) == 0) return(on)
  cells <- split(on, in_order(paste(on$label, on$arm_name, on$figure, sep = "\r")))
  changes <- bind_rows(lapply(cells, function(part) {
    ratio <- as.numeric(tapply(log(pmax(part$value, 1e-12) / part$off), part$launch, mean))
    ci <- batch_mean_ci(ratio, 1 - alpha, groups = Inf)
    data.frame(label = part$label[1], arm = part$arm_name[1], figure = part$figure[1],
               unit = counter_figures[[part$figure[1]]]$unit, off = mean(part$off), on = mean(part$value),
               change_percent = 100 * expm1(ci$estimate), ci_low = 100 * expm1(ci$low),
               ci_high = 100 * expm1(ci$high), n_launches = length(ratio))
  }))
  changes <- changes[
    order(match(changes$label, unique(changes$label)), changes$arm,
          match(changes$figure, names(counter_figures))),
  ]
  rownames(changes) <- NULL
  changes
}

counter_causes <- function(changes, analysis) {
  verdicts <- main_rows(analysis$verdicts)
  arms <- counter_arms(list(verdicts = verdicts, treatments = analysis$treatments))
  time <- verdicts[verdicts$channel == "time", ]
  external <- !has_level(time$level_requested_percent)
  # In a sweep the treatment has the interval in its name, and so has the arm here.
  arms$arm[external] <- as.character(time$kind)[external]
  cells <- unique(changes[c("label", "arm")])
  causes <- bind_rows(lapply(seq_len(nrow(cells)), function(i) {
    at <- which(arms$label == cells$label[i] & arms$arm == cells$arm[i])[1]
    mine <- changes[changes$label == cells$label[i] & changes$arm == cells$arm[i], ]
    moved <- lapply(stats::setNames(nm = names(counter_figures)), function(name) {
      c(mine$change_percent[mine$figure == name], NA)[1]
    })
    names(moved) <- paste0(names(moved), "_percent")
    ends <- mine[match(names(counter_figures), mine$figure), c("ci_low", "ci_high")]
    rownames(ends) <- names(counter_figures)
    told <- channels_of(time[at, ], verdicts)
    c(
      list(operation = time$operation[at], bytes = time$bytes[at], label = cells$label[i],
           arm = cells$arm[i]),
      told[c("slowdown_percent", "preempted_percent", "base_percent")],
      moved,
      diagnosis(told, moved, ends)
    )
  }))
  rownames(causes) <- NULL
  causes
}

# What the channels say of the arm of a `time` row.
channels_of <- function(row, verdicts) {
  mine <- rows_like(verdicts, row,
                    c("scope", "launch", "operation", "bytes", treatment_columns, "level_requested_percent"))
  of <- function(channel, column) c(verdicts[[column]][mine & verdicts$channel == channel], NA)[1]
  list(slowdown_percent = row$estimate, slower = identical(row$verdict, "detected"),
       preempted_percent = of("preempted", "estimate"),
       preempted = identical(of("preempted", "verdict"), "detected"), base_percent = of("base", "estimate"),
       limit = row$detection_limit)
}

# The rules. `cause` and `why`, with every figure that was looked at. A cause is a hint unless the whole
# interval of its figures (`ends`) is beyond the threshold.
diagnosis <- function(told, moved, ends) {
  slow <- told$slowdown_percent
  said <- function(name, value) if (is.na(value)) NULL else sprintf("%s %s %%", name, format_effect(value))
  names <- vapply(counter_figures, `[[`, "", "name")
  looked <- c(said("slowdown", slow), said("preempted", told$preempted_percent),
              said("base", told$base_percent), unlist(Map(said, names, moved), use.names = FALSE))
  answer <- function(cause, why = NULL) {
    list(cause = cause, why = paste(c(why, paste(looked, collapse = ", ")), collapse = ": "))
  }
  if (!told$slower) {
    return(answer("not slower",
                  sprintf("no slowdown was detected (limit %s %%)", format_effect(told$limit, FALSE))))
  }
  clock <- -moved$clock_percent
  traffic <- unlist(moved[c("l2_percent", "l3_percent", "memory_percent")])
  least <- share_of_slowdown * slow
  damaged <- any(traffic >= more_traffic_percent, na.rm = TRUE) &&
    isTRUE(moved$cpi_percent >= more_cycles_percent)
  shown <- function(name, is_sure) paste0(if (!isTRUE(is_sure)) "hint: ", name)
  found <- c(
    if (isTRUE(told$preempted && told$preempted_percent >= least)) {
      "preempted time"
    },
    if (isTRUE(clock >= lower_clock_percent && clock >= least)) {
      shown("lower clock", -ends["clock", "ci_high"] >= max(lower_clock_percent, least))
    },
    if (damaged) {
      shown(
        "cache damage",
        any(ends[c("l2", "l3", "memory"), "ci_low"] >= more_traffic_percent,
            na.rm = TRUE) && ends["cpi", "ci_low"] >= more_cycles_percent
      )
    }
  )
  if (length(found) > 0) return(answer(paste(found, collapse = " + ")))
  open <- c(if (is.na(told$preempted_percent)) "preempted time", if (is.na(clock)) "the clock",
            if (all(is.na(traffic)) || is.na(moved$cpi_percent)) "cache traffic")
  if (length(open) > 0) {
    return(answer("too little is known",
                  paste(join_words(open), if (length(open) > 1) "were" else "was", "not measured")))
  }
  answer("unexplained", "neither preempted time nor the clock nor the caches account for it")
}

# The schedule of a campaign (docs/reference/formats.md): which launches were planned, and which of them are
# there.

# What a campaign is judged by, as it was asked for when it was planned: `margin` (text), `limits`,
# `classes` (files), `reference` (folders), those that it has; and `analysis`, by which the runner answers:
# the first that the schedule names, else the experiment's name. Empty for several campaigns, and for launches
# without a schedule.
campaign_asked <- function(dirs) {
  file <- file.path(dirs, schedule_file)
  if (length(dirs) != 1 || !file.exists(file)) return(list())
  lines <- iconv(read_text_lines(file, utf8 = FALSE), "UTF-8", "UTF-8", sub = "byte")
  keys <- comment_keys(lines[startsWith(lines, "#")])
  of <- function(key) unname(keys[names(keys) == key & !keys %in% c("", "-")])
  beside <- function(key, file) if (length(of(key)) > 0) file.path(dirs, file)
  analysis <- utils::head(c(sub(",.*", "", of("analyses")), of("experiment")), 1)
  asked <- list(margin = utils::head(of("margin_percent"), 1), analysis = analysis,
                limits = beside("limits", "limits.conf"), classes = beside("classes", "classes.conf"),
                reference = of("reference"))
  asked[lengths(asked) > 0]
}

# The options of a command with what the campaign was asked by itself, where none of them is given.
as_asked <- function(values, dirs, names) {
  if (any(names %in% names(values))) return(values)
  asked <- campaign_asked(dirs)
  asked <- asked[intersect(names, names(asked))]
  gone <- as.character(unlist(asked[c("limits", "classes", "reference")]))
  gone <- gone[!file.exists(gone)]
  if (length(gone) > 0) {
    say_notes("noiselab-analyze",
              sprintf("'%s', by which the campaign was judged, is gone: judged without it", gone))
  }
  for (name in setdiff(names(asked), "margin")) asked[[name]] <- setdiff(asked[[name]], gone)
  values[names(asked)] <- lapply(asked, function(x) if (length(x) > 0) x)
  values
}

# The options with the margin that the campaign was asked by itself, where it is of one node's slowdown.
with_asked_margin <- function(values, dirs) {
  if (!is.null(values$margin) || isTRUE(margin_request(campaign_asked(dirs)$margin, TRUE)$at_scale)) {
    return(values)
  }
  as_asked(values, dirs, "margin")
}

# What an answer is about: one launch, the launches that were run, or launches like these.

# Marks the rows of the main answer in a column `main`: across launches where there are several. With fewer
# launches than say anything of others, that is the pooled scope; what only one launch has stays in that
# launch's own.
mark_main <- function(rows) {
  if (NROW(rows) == 0) return(rows)
  columns <- intersect(
    c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent", "channel"),
    names(rows)
  )
  key <- code_of(row_key(rows, columns))
  few <- length(unique(rows$launch[!is.na(rows$launch)])) < launches_for_more
  wanted <- if (few) {
    c(scope_these, scope_campaign, scope_launch)
  } else {
    c(scope_campaign, scope_these, scope_launch)
  }
  rank <- match(rows$scope, wanted)
  rows$main <- rank == stats::ave(rank, key, FUN = min)
  rows
}

# Said where other scopes are not shown.
scope_note <- function(verdicts) {
  other <- unique(verdicts$scope[!verdicts$main])
  if (length(other) > 0) {
    sprintf("verdicts about %s: noiselab analyze with --csv or --json", join_words(other))
  }
}

# Randomised launches: every launch has one arm, and a set of launches holds each arm once, in random order.

# Do all launches belong to a numbered set, and do two sets at least hold both arms?
in_sets <- function(campaign) {
  sets <- vapply(campaign$launches, set_of, 0)
  if (anyNA(sets)) return(FALSE)
  rows <- campaign$rows
  arms <- unique(data.frame(set = sets[rows[["launch"]]], arm = rows[["arm"]]))
  sum(table(arms$set) == 2) > 1
}

# Each on launch against the off launch of its set: the set is the unit, and the order within it was drawn.
set_verdicts <- function(campaign, wanted, settings) {
  on <- set_differences(campaign, wanted)
  group <- row_key(
    on, c("operation", "bytes", "ranks", "design", treatment_columns, "channel", "level_requested_percent")
  )
  list(verdicts = unname(lapply(split(on, factor(group, unique(group))), set_verdict, settings = settings)))
}

# One row per on launch, operation and channel: `difference` of its mean to that of the off launch of its set.
set_differences <- function(campaign, wanted) {
  means <- launch_means(campaign, wanted)
  means$set <- vapply(campaign$launches, set_of, 0)[means$launch]
  key <- function(rows) row_key(rows, c("operation", "bytes", "ranks", "channel", "set"))
  off <- means[means$arm == "off", ]
  twice <- anyDuplicated(key(off))
  if (twice > 0) {
    abort_data("set ", off$set[twice],
               " has two off launches: give each set of launches a number of its own (--arms on:set=N)")
  }
  on <- means[means$arm == "on", ]
  on$difference <- on$value - off$value[match(key(on), key(off))]
  on
}

set_verdict <- function(on, settings) {
  name <- on$channel[1]
  twice <- anyDuplicated(on$set)
  if (twice > 0) {
    abort_data("set ", on$set[twice], " has level ", on$level_requested_percent[twice],
               " twice: give each set of launches a number of its own (--arms on:set=N)")
  }
  x <- on$difference[is.finite(on$difference)]
  n <- length(x)
  lost <- nrow(on) - n
  est <- launches_inference(x, settings, "paired t on sets of launches")
  est$mean <- est[c("estimate", "low", "high", "se", "df")]
  est$estimator <- "mean of set differences"
  est$why <- if (lost == 0) "" else sprintf("%d set(s) without a complete pair are left out", lost)
  reason <- if (n < 2) "fewer than 2 sets have both arms" else if (min(x) == max(x)) {
    "all sets agree exactly, their scatter is unknown"
  } else NA_character_
  verdict_row(across_label(on), name, 0, n, n, est, reason, settings, "set of launches", x)
}

# Looks at a campaign that grows: each is a chance of a false alarm, and the error is spent over them.

# What the tests over launches have of alpha (docs/methods.md, Looks at a campaign): of launches that are
# still to come what O'Brien and Fleming's function has spent by then; of launches beyond the plan, each
# taken for a look, alpha / L^2 at look number L; of looks that were planned after each launch an equal
# part, of single launches too.
#
# A list: `looks` (number of this look; NA: no schedule), `planned`, `present` (launches), `share` (of the
# planned, 1 at most), `alpha` (of this look's tests over launches), `for_all` (of single launches, too?),
# `note` (none where it is the one look that was planned). O'Brien, P. C. and Fleming, T. R. (1979)
# Biometrics 35, 549-556; Lan, K. K. G. and DeMets, D. L. (1983) Biometrika 70, 659-663.
campaign_looks <- function(campaign, alpha = 0.01) {
  progress <- campaign$progress
  result <- function(looks, planned, present, share, spent, note = character(), for_all = FALSE) {
    list(looks = looks, planned = planned, present = present, share = share, alpha = spent, for_all = for_all,
         note = note)
  }
  n <- length(campaign$launches)
  if (NROW(progress) == 0) return(result(NA_real_, NA_real_, n, NA_real_, alpha))
  planned <- sum(progress$planned)
  present <- sum(progress$complete) + sum(progress$unplanned) + elsewhere(campaign, progress$dir)
  if (isTRUE(any(progress$looks > 1))) {
    parts <- max(present, sum(pmax(progress$looks, progress$planned, na.rm = TRUE)))
    return(result(
      present,
      parts,
      present,
      min(1, present / parts),
      alpha / parts,
      sprintf(
        paste0("a look after each of %d launches was planned: tests use alpha %s, %g by their number, and ",
               "this is look %d"),
        parts,
        format_nominal(alpha / parts),
        alpha,
        present
      ),
      TRUE
    ))
  }
  added <- ceiling(max(0, present - planned) / launches_per_look(campaign))
  later <- later_schedules(campaign, progress)
  looks <- 1 + added + later
  share <- min(1, present / planned)
  # Without a complete launch there is nothing to look at, and what is there is judged as the smallest share.
  spent <- if (share < 1) spending_functions[["obrien-fleming"]](alpha, max(share, 1 / planned)) else alpha
  spent <- max(spent / looks^2, 1e-15)
  text <- c(
    if (looks > 1) {
      sprintf(
        paste(
          paste0("look %g at this campaign: %d launches were planned, %d are there%s; each added one is ",
                 "taken for a look, and tests"),
          "over launches use alpha %s (%g over %g^2)"
        ),
        looks,
        planned,
        present,
        if (later > 0) {
          sprintf(", in %d schedules made one after the other", later + 1)
        } else {
          ""
        },
        format_nominal(spent),
        alpha,
        looks
      )
    },
    if (share < 1) {
      sprintf(
        paste0("interim look: %d of %d planned launches are there; tests over launches use alpha %s, what ",
               "is spent of %g by then (O'Brien-Fleming)"),
        present,
        planned,
        format_nominal(spent),
        alpha
      )
    }
  )
  result(looks, planned, present, share, spent, as.character(text))
}

# Launches that lie in no directory with a schedule.
elsewhere <- function(campaign, scheduled) {
  sum(
    !dirname(normalizePath(campaign$paths, mustWork = FALSE)) %in% normalizePath(scheduled, mustWork = FALSE)
  )
}

# One launch can be added at a time; where each has one arm, a set of them.
launches_per_look <- function(campaign) {
  if (!one_arm_launches(campaign$rows) || !in_sets(campaign)) return(1)
  max(1, round(mean(table(vapply(campaign$launches, set_of, 0)))))
}

# Schedules that were made when all launches of the earlier ones had ended, of an operation and size that
# they have.
later_schedules <- function(campaign, progress) {
  if (nrow(progress) < 2 || anyNA(progress$created_utc)) return(0)
  progress <- progress[order(progress$created_utc), ]
  home <- match(dirname(normalizePath(campaign$paths, mustWork = FALSE)),
                normalizePath(progress$dir, mustWork = FALSE))
  ended <- vapply(campaign$launches, function(info) info$ended_utc %||% NA_character_, "")
  rows <- campaign$rows
  cells <- unique(data.frame(home = home[match(as.character(rows[["launch"]]), names(campaign$launches))],
                             cell = paste(rows[["operation"]], rows[["bytes"]])))
  sum(vapply(seq_len(nrow(progress))[-1], function(i) {
    before <- ended[home %in% seq_len(i - 1)]
    shared <- intersect(cells$cell[cells$home %in% i], cells$cell[cells$home %in% seq_len(i - 1)])
    length(before) > 0 && length(shared) > 0 && !anyNA(before) && all(before < progress$created_utc[i])
  }, TRUE))
}

# What a comparison of campaigns compares: one summary per launch and figure.

tail_quantiles <- c(p50 = 0.5, p99 = 0.99, p99.9 = 0.999)

# One row per launch and thing compared: `x` on the scale of its family, `se` and `df` of it within the launch (where
# pairs give them), `why` there is none.
side_summaries <- function(campaign) {
  clean <- clean_summaries(campaign)
  all <- bind_rows(list(clean, tail_summaries(campaign, clean), treated_summaries(campaign)))
  all$mode <- unname(vapply(campaign$launches, start_mode, "")[all$launch])
  all[order(match(all$family, names(comparison_families))), ]
}

summary_frame <- function(cells, family, measure, x, se = NA_real_, df = NA_real_, why = NA_character_) {
  got <- data.frame(launch = as.character(cells$launch), family = family, measure = measure,
                    operation = as.character(cells$operation),
                    bytes = cells$bytes, ranks = cells$ranks)
  for (name in treatment_columns) got[[name]] <- as.character(cells[[name]] %||% NA)
  got$level_requested_percent <- cells$level_requested_percent %||% 0
  x[!is.finite(x)] <- NA_real_
  cbind(got, data.frame(x = x, se = se, df = df, why = why))
}

# Means over the off halves of each launch and cell.
clean_summaries <- function(campaign) {
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  key <- cell_key(rows)[off]
  first <- off[!duplicated(key)]
  cells <- as.data.frame(lapply(stats::setNames(nm = c("launch", "operation", "bytes", "ranks")),
                                function(n) rows[[n]][first]))
  n_generators <- row_generators(campaign)
  one <- function(family, name) {
    channel <- channels[[name]]
    value <- channel$value(rows, n_generators)
    if (length(value) == 0) value <- rep(NA_real_, nrow(rows))
    if (channel$transform == "log_ratio") value <- log_or_na(value)
    x <- as.numeric(tapply(value[off], in_order(key), mean, na.rm = TRUE))
    summary_frame(cells, family, name, x, why = ifelse(is.finite(x), NA, paste("channel", name, "was not measured")))
  }
  bind_rows(list(one("time", "time"), one("share", "preempted"), one("share", "detour")))
}

# Quantiles of the operation times in the off arm. Bins are read as if their values lay evenly in them: the middle of a
# bin would be the same in all launches, and their scatter 0.
tail_summaries <- function(campaign, clean) {
  cells <- clean[clean$measure == "time", ]
  hist <- campaign$hist
  off <- which(hist[["arm"]] == "off")
  key <- function(frame, at) paste(frame[["launch"]][at], frame[["operation"]][at], frame[["bytes"]][at], sep = "\r")
  members <- split(off, factor(key(hist, off), key(cells, seq_len(nrow(cells)))))
  bind_rows(lapply(names(tail_quantiles), function(name) {
    p <- tail_quantiles[[name]]
    x <- vapply(members, function(at) {
      spread_quantile(hist[["lo_ns"]][at], hist[["hi_ns"]][at], hist[["count"]][at], p)
    }, 0)
    counted <- vapply(members, function(at) sum(hist[["count"]][at]), 0)
    why <- ifelse(counted == 0, "single operations were not timed",
                  ifelse(counted * (1 - p) < 1 - 1e-9,
                         sprintf("fewer than %g operations for %s", round(1 / (1 - p)), name), NA))
    x[!is.na(why)] <- NA
    summary_frame(cells, "tail", name, unname(log_or_na(x)), why = why)
  }))
}

# Mean log ratio on/off and amplification of the pairs of each launch and level above 0.
treated_summaries <- function(campaign) {
  rows <- campaign$rows
  pairs <- pair_rows(rows)
  wanted <- which(pairs$cells$level_requested_percent > 0)
  if (length(wanted) == 0) return(set_summaries(campaign))
  differences <- measure_pairs(campaign, pairs, c("time", "preempted"))$differences
  slow <- differences$time
  preempted <- differences$preempted %||% rep(NA_real_, length(slow))
  members_of <- split(seq_along(pairs$cell), factor(pairs$cell, seq_len(nrow(pairs$cells))))
  bind_rows(lapply(wanted, function(i) {
    members <- members_of[[i]]
    members <- members[is.finite(slow[members])]
    mean_log <- batch_mean_ci(slow[members])
    ratio <- launch_amplification(slow[members], preempted[members])
    cell <- pairs$cells[i, ]
    none <- if (length(members) == 0) "no pair has a value" else NA_character_
    rbind(summary_frame(cell, "slowdown", "slowdown", mean_log$estimate, mean_log$se, mean_log$df, none),
          summary_frame(cell, "amplification", "amplification", ratio$estimate, ratio$se, ratio$df, ratio$reason))
  }))
}

# Where every launch has one arm: each treated launch against the off launch of its set.
set_summaries <- function(campaign) {
  if (!one_arm_launches(campaign$rows) || !in_sets(campaign)) return(NULL)
  on <- set_differences(campaign, "time")
  on <- on[on$level_requested_percent > 0, ]
  if (nrow(on) == 0) return(NULL)
  summary_frame(on, "slowdown", "slowdown", on$difference,
                why = ifelse(is.finite(on$difference), NA_character_, "the set has no off launch"))
}

# As in cell_amplification(), with the standard error of the ratio: each pair adds its residual from it.
launch_amplification <- function(log_ratio, preempted) {
  known <- is.finite(preempted)
  slow <- slowdown_parts(log_ratio[known])
  ratio <- fieller_ratio(slow, preempted[known])
  if (!is.na(ratio$reason)) return(list(estimate = NA_real_, se = NA_real_, df = NA_real_, reason = ratio$reason))
  residual <- batch_mean_ci(slow - ratio$estimate * preempted[known])
  list(estimate = ratio$estimate, se = residual$se / mean(preempted[known]), df = residual$df, reason = NA_character_)
}

# When launches must not be judged, or not together: what the files say of how they were taken.

# Rows with a reason where the conditions forbid a verdict; a reason that is there already stays.
refuse_conditions <- function(rows, campaign, mixed) {
  across <- rows$scope %in% scopes_across
  rows$refused <- FALSE
  why <- if (mixed) NA_character_ else mixed_builds(campaign)
  arms <- mixed_hosts_between_arms(campaign)
  for (reason in c(why, arms)) {
    if (!is.na(reason)) rows <- put_reason(rows, across, reason)
  }
  for (why in absent_loads(campaign)) {
    same <- rows$level_requested_percent > 0 & rows$level_requested_percent == why$level_requested_percent
    for (factor in names(why$treatment)) {
      same <- same & (is.na(why$treatment[[factor]]) | rows[[factor]] %in% why$treatment[[factor]])
    }
    rows <- put_reason(rows, same & (across | rows$launch %in% why$launch), why$reason)
  }
  rows
}

# A load that hardly came, or came in the off halves as well, is no dose: shares of what should have come.
absent_below <- 0.1
stray_above <- 0.5

# Treatments of launches that cannot be judged, because their load was absent, ran in the off halves, or is
# unknown. A load that missed its mark is a dose all the same: estimates go by what was delivered, and a
# note says it.
absent_loads <- function(campaign) {
  rows <- campaign$rows
  if (is.null(rows[["delivered_ns"]])) return(list())
  arm_key <- combine_keys(code_of(rows[["launch"]]), rows[["level_requested_percent"]], treatment_code(rows))
  on <- which(
    rows[["arm"]] == "on" & rows[["level_requested_percent"]] > 0 &
      has_level(rows[["level_requested_percent"]])
  )
  off <- which(rows[["arm"]] == "off")
  stray <- tapply(rows[["level_delivered_percent"]][off], as.character(rows[["launch"]][off]), mean_or_na)
  unlist(lapply(unname(split(on, rank_of(arm_key[on]))), function(at) {
    first <- at[1]
    launch <- as.character(rows[["launch"]][first])
    # Campaigns of programs without a generator (simulated ones) say nothing of it.
    if (
      is.null(campaign$launches[[launch]]$generators) || length(campaign$launches[[launch]]$generators) == 0
    ) {
      return(NULL)
    }
    level <- rows[["level_requested_percent"]][first]
    got <- mean_or_na(rows[["level_delivered_percent"]][at])
    extra <- stray[launch]
    reason <- if (is.na(got)) "what the generator delivered is unknown" else if (got < absent_below * level) {
      sprintf("the load was absent: %s %% of one CPU delivered for %s %%", format_level(got),
              format_level(level))
    } else if (isTRUE(extra > stray_above * got)) "the load ran in the off halves, too"
    if (is.null(reason)) return(NULL)
    list(list(launch = launch, level_requested_percent = level,
              treatment = lapply(as.list(treatment_of(rows, first)), as.character),
              reason = paste0("launch ", launch, ": ", reason)))
  }), recursive = FALSE)
}

put_reason <- function(rows, at, reason) {
  at <- which(at & is.na(rows$reason))
  rows$reason[at] <- reason
  rows$refused[at] <- TRUE
  rows$p_one_sided[at] <- NA_real_
  rows
}

# What must be the same where launches are judged together: names are those of launch.json.
build_facts <- function(info) {
  hosts <- function(key) {
    paste(sort(unique(unlist(lapply(info$hosts, function(h) show_json(h[[key]], NULL))))), collapse = " ")
  }
  c("noiselab version" = show_json(info$version), "MPI library" = show_json(info$mpi$library),
    "MPI version" = show_json(info$mpi$version), "kernel" = hosts("kernel"), "CPU model" = hosts("cpu_model"))
}

mixed_builds <- function(campaign) {
  if (length(campaign$launches) < 2) return(NA_character_)
  facts <- vapply(campaign$launches, build_facts, character(5))
  differs <- rownames(facts)[apply(facts, 1, function(x) length(unique(x)) > 1)]
  if (length(differs) == 0) return(NA_character_)
  sprintf("launches differ in %s (%s): --mixed judges them together", differs[1],
          paste(utils::head(unique(printable(facts[differs[1], ])), 3), collapse = " | "))
}

host_set <- function(info) {
  hosts <- sort(unique(unlist(lapply(info$hosts, function(h) show_json(h$host, NULL)))))
  paste(hosts, collapse = " ")
}

# Where every launch has one arm, a difference between hosts is a difference between arms.
mixed_hosts_between_arms <- function(campaign) {
  if (length(campaign$launches) < 2 || !one_arm_launches(campaign$rows)) return(NA_character_)
  hosts <- vapply(campaign$launches, host_set, "")
  if (length(unique(hosts)) == 1) return(NA_character_)
  rows <- campaign$rows
  first <- !duplicated(rows[["launch"]])
  arm <- rows[["arm"]][first][match(names(hosts), rows[["launch"]][first])]
  if (!anyNA(vapply(campaign$launches, set_of, 0))) {
    set <- vapply(campaign$launches, set_of, 0)
    alike <- all(tapply(hosts, set, function(h) length(unique(h))) == 1)
    if (alike) return(NA_character_)
  } else if (setequal(hosts[arm == "off"], hosts[arm == "on"])) return(NA_character_)
  "clean and noisy launches ran on different hosts, whose difference is in the effect"
}

# A quota of CPU time (cpu.max, cpu.cfs_quota_us): whoever has used it up stands still until its next
# period. No task took that time.

# Time that the ranks stood still by it: percent of a rank's time, in the given rows; NA where that is not
# known. Time of rows of several lengths counts by their length.
throttled_percent <- function(rows, at = seq_len(nrow(rows))) {
  stopped <- rows[["throttled_ns"]][at]
  known <- is.finite(stopped)
  if (!any(known)) return(NA_real_)
  100 * sum(stopped[known]) / sum((rows[["wall_ns"]] * pmax(1, rows[["ranks"]]))[at][known])
}

# The tightest quota of the launches' nodes, in words; "" where none is on record.
quota_words <- function(campaign) {
  quotas <- unlist(lapply(campaign$launches, function(info) lapply(info$hosts, `[[`, "cpu_quota")),
                   recursive = FALSE)
  quotas <- Filter(function(q) is.list(q) && is_number(q$cpus), quotas)
  if (length(quotas) == 0) return("")
  q <- quotas[[which.min(vapply(quotas, `[[`, 0, "cpus"))]]
  sprintf(" of %s CPUs%s", format_level(q$cpus),
          if (is_text(q$group)) sprintf(" (%s)", printable(q$group)) else "")
}

# The load or the agent makes the quota stop the ranks more, or less: part of what it costs is the quota's.
# NULL where it does not.
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
    sprintf(
      "with %s by %s points of the ranks' time %s",
      if (has_level(level)) {
        paste(format_level(level), "%")
      } else {
        printable(as.character(rows[["kind"]][on]))
      },
      format_interval(shift$low, shift$high),
      if (shift$low > 0) "more" else "less"
    )
  }, "")
  said <- said[nzchar(said)]
  if (length(said) == 0) return(NULL)
  paste0("the CPU quota", quota_words(campaign), " stops the ranks ", join_words(said),
         ": that part of the slowdown is the quota's, and would not be there without it.")
}

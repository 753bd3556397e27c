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
    for (factor in names(why$treatment)) same <- same & (is.na(why$treatment[[factor]]) | rows[[factor]] %in% why$treatment[[factor]])
    rows <- put_reason(rows, same & (across | rows$launch %in% why$launch), why$reason)
  }
  rows
}

# A load that hardly came, or came in the off halves as well, is no dose: shares of what should have come.
absent_below <- 0.1
stray_above <- 0.5

# Treatments of launches that cannot be judged, because their load was absent, ran in the off halves, or is unknown. A load
# that missed its mark is a dose all the same: estimates go by what was delivered, and a note says it.
absent_loads <- function(campaign) {
  rows <- campaign$rows
  if (is.null(rows[["delivered_ns"]])) return(list())
  arm_key <- combine_keys(code_of(rows[["launch"]]), rows[["level_requested_percent"]], treatment_code(rows))
  on <- which(rows[["arm"]] == "on" & rows[["level_requested_percent"]] > 0 & has_level(rows[["level_requested_percent"]]))
  off <- which(rows[["arm"]] == "off")
  stray <- tapply(rows[["level_delivered_percent"]][off], as.character(rows[["launch"]][off]), mean_or_na)
  unlist(lapply(unname(split(on, rank_of(arm_key[on]))), function(at) {
    first <- at[1]
    launch <- as.character(rows[["launch"]][first])
    # Campaigns of programs without a generator (simulated ones) say nothing of it.
    if (is.null(campaign$launches[[launch]]$generators) || length(campaign$launches[[launch]]$generators) == 0) return(NULL)
    level <- rows[["level_requested_percent"]][first]
    got <- mean_or_na(rows[["level_delivered_percent"]][at])
    extra <- stray[launch]
    reason <- if (is.na(got)) "what the generator delivered is unknown" else if (got < absent_below * level) {
      sprintf("the load was absent: %s %% of one CPU delivered for %s %%", format_level(got), format_level(level))
    } else if (isTRUE(extra > stray_above * got)) "the load ran in the off halves, too"
    if (is.null(reason)) return(NULL)
    list(list(launch = launch, level_requested_percent = level,
              treatment = lapply(as.list(treatment_of(rows, first)), as.character), reason = paste0("launch ", launch, ": ", reason)))
  }), recursive = FALSE)
}

put_reason <- function(rows, at, reason) {
  at <- which(at & is.na(rows$reason))
  rows$reason[at] <- reason
  rows$refused[at] <- TRUE
  rows$p_one_sided[at] <- rows$p_check[at] <- NA_real_
  rows
}

# What must be the same where launches are judged together: names are those of launch.json.
build_facts <- function(info) {
  hosts <- function(key) paste(sort(unique(unlist(lapply(info$hosts, function(h) show_json(h[[key]], NULL))))), collapse = " ")
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

# When launches must not be judged, or not together: what the files say of how they were taken.

# Rows with a reason where the conditions forbid a verdict; a reason that is there already stays.
refuse_conditions <- function(rows, campaign, mixed) {
  across <- rows$scope == scope_campaign
  rows$refused <- FALSE
  why <- if (mixed) NA_character_ else mixed_builds(campaign)
  arms <- mixed_hosts_between_arms(campaign)
  for (reason in c(why, arms)) {
    if (!is.na(reason)) rows <- put_reason(rows, across, reason)
  }
  failed <- failed_certificates(campaign)
  for (i in seq_len(NROW(failed))) {
    same <- abs(rows$level_requested_percent - failed$level_requested_percent[i]) < 1e-9 &
      rows$level_requested_percent > 0
    for (factor in intersect(treatment_columns, names(failed))) {
      same <- same & (is.na(failed[[factor]][i]) | rows[[factor]] == failed[[factor]][i])
    }
    mine <- same & (across | rows$launch == failed$launch[i])
    rows <- put_reason(rows, mine, sprintf(paste(
      "in launch %s the generator delivered %s of the load, outside its tolerance: run the launch again on a quieter machine,",
      "or leave it out; the effect stands, by the level that was delivered"
    ), failed$launch[i], failed$ratio_text[i]))
  }
  rows
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

# Levels of launches whose generator says itself that it did not deliver them.
failed_certificates <- function(campaign) {
  rows <- lapply(names(campaign$launches), function(id) {
    bind_rows(lapply(campaign$launches[[id]]$generators, function(generator) {
      bind_rows(lapply(generator$levels, function(level) {
        if (!isFALSE(level$ok)) return(NULL)
        factors <- lapply(stats::setNames(treatment_columns, treatment_columns), function(name) {
          as.character(level[[name]] %||% NA)
        })
        c(list(launch = id, level_requested_percent = level$level_requested_percent), factors,
          list(ratio_text = if (is_number(level$ratio)) paste(format_effect(100 * level$ratio, FALSE), "%") else "part"))
      }))
    }))
  })
  bind_rows(Filter(function(part) nrow(part) > 0, rows))
}

# Reading launches of noiselab-accept (docs/reference/formats.md is the contract).

figure_rules <- rules_of(
  list("launch", "text"), list("check", "text"), list("variant", "label", 0, "empty"), list("metric", "text"), list("unit", "text"),
  list("value", "number", -Inf, "empty"), list("n", "whole", 0, "empty"), list("sd", "number", 0, "empty"),
  list("min", "number", -Inf, "empty"),
  list("max", "number", -Inf, "empty"), list("median", "number", -Inf, "empty"), list("repetition", "whole", 1, "empty"),
  list("order", "whole", 1, "empty"), list("start_ns", "number", -Inf, "empty"), list("wall_ns", "number", 0, "empty"),
  list("bytes", "whole", 0, "empty"), list("ranks", "whole", 1, "empty"), list("nodes", "whole", 1, "empty"),
  list("node", "whole", 0, "empty"), list("host", "label", 0, "empty"), list("rank", "whole", 0, "empty"),
  list("cpu", "whole", -1, "empty"), list("peer_node", "whole", 0, "empty"), list("peer_host", "label", 0, "empty"),
  list("peer_rank", "whole", 0, "empty")
)

accept_hist_rules <- rules_of(
  list("check", "text"), list("variant", "label", 0, "empty"), list("metric", "text"), list("bytes", "whole", 0, "empty"),
  list("node", "whole", 0, "empty"), list("host", "label", 0, "empty"), list("rank", "whole", 0, "empty"),
  list("cpu", "whole", -1, "empty"), list("lo_ns", "number", 0), list("hi_ns", "number", 0), list("count", "whole", 0)
)

mismatch_rules <- rules_of(
  list("launch", "text"), list("repetition", "whole", 1), list("sender_rank", "whole", 0), list("sender_host", "label"),
  list("receiver_rank", "whole", 0), list("receiver_host", "label"), list("bytes", "whole", 0), list("offset_bytes", "whole", 0),
  list("expected_hex", "text"), list("found_hex", "text")
)

check_types <- c(name = "text", status = "text", reason = "string", repetitions = "number", seconds = "number",
                 planned_seconds = "number")
accept_statuses <- c("planned", "ran", "skipped", "failed")

#' Read a campaign of acceptance launches
#'
#' @param dirs Character, length >= 1: campaign directories, launch directories of noiselab-accept, or both.
#' @return An object of class `nl_acceptance`, a list: `figures` (data frame, the columns of `accept.csv` over all launches, without rows
#'   that have no value),
#'   `hist` (those of `accept_hist.csv`, with `launch`), `mismatches` (those of `mismatches.csv`), `checks` (data frame: `launch`,
#'   `check`, `status` (`ran`, `skipped`, `failed`, `planned`), `reason`, `repetitions`), `launches` (list of the parsed `launch.json`
#'   files, by id), `paths` (character: directory of each), `hosts` (character), `shared` (data frame: `host_a`, `host_b`, `cpu`:
#'   nodes of one kernel that share a CPU), `others` (list: who else ran, one for each launch and node), `self_check` (list: `dirs` of the detector's launches ending in `-selfcheck`, `planned`
#'   (logical, NA: no schedule says), `why_not`), `progress` (see [read_campaign()]), `dirs`, `notes`.
#' @details Launches that died are read up to their last complete line. Signals `nl_error_schema`, `nl_error_damaged` (file and line
#'   named) or `nl_error_data`.
#' @examples
#' \dontrun{
#' read_acceptance("acceptance-campaign")$hosts
#' }
#' @export
read_acceptance <- function(dirs) {
  check_argument(is.character(dirs) && length(dirs) > 0 && !anyNA(dirs), "dirs", dirs, "directory names")
  paths <- unique(normalizePath(unlist(lapply(dirs, find_launches, program = "noiselab-accept"))))
  if (length(paths) == 0) {
    abort_data("no launch of noiselab-accept in ", paste(dirs, collapse = " "), ": make some with noiselab run acceptance")
  }
  launches <- lapply(paths, read_accept_launch)
  ids <- vapply(launches, function(launch) launch$info$launch, "")
  if (anyDuplicated(ids)) abort_usage("launch id '", ids[duplicated(ids)][1], "' occurs twice: give each launch once")
  part <- function(name) bind_rows(lapply(launches, `[[`, name))
  infos <- stats::setNames(lapply(launches, `[[`, "info"), ids)
  figures <- part("figures")
  if (NROW(figures) == 0) abort_data("no launch of ", paste(dirs, collapse = " "),
                                     " has a figure: they ended before the first check was done")
  progress <- schedule_progress(dirs)
  hosts <- unique(c(unlist(lapply(infos, function(info) vapply(info$hosts, function(h) show_json(h$host), "")), use.names = FALSE),
                    figures$host[nzchar(figures$host) & !is.na(figures$host)]))
  structure(list(
    figures = figures, hist = part("hist"), mismatches = part("mismatches"), checks = part("checks"), launches = infos,
    paths = stats::setNames(paths, ids), hosts = hosts[natural_order(hosts)], shared = shared_cpus(infos, figures),
    others = unlist(lapply(launches, `[[`, "others"), recursive = FALSE), self_check = find_self_check(dirs),
    progress = progress, dirs = dirs,
    notes = c(progress_notes(progress), unlist(lapply(launches, `[[`, "notes")), unlike_hosts(infos))
  ), class = "nl_acceptance")
}

#' @export
print.nl_acceptance <- function(x, ...) {
  cat(sprintf("noiselab acceptance: %d launch(es), %s, %d figures\n", length(x$launches), counted(length(x$hosts), "node"),
              nrow(x$figures)))
  invisible(x)
}

# node2 before node10.
natural_order <- function(names) {
  order(vapply(regmatches(names, gregexpr("[0-9]+|[^0-9]+", names)), function(part) {
    paste(ifelse(grepl("^[0-9]", part), formatC(part, width = 12), part), collapse = "")
  }, ""))
}

read_accept_launch <- function(dir) {
  info <- read_json_head(file.path(dir, "launch.json"))
  if (!is_array(info$checks, is_object)) abort_damaged(file.path(dir, "launch.json"), 1,
                                                       "key 'checks' is missing, wanted an array of objects")
  checks <- bind_rows(lapply(info$checks, function(check) {
    check_json(check, check_types, file.path(dir, "launch.json"), "checks.")
    if (!check$status %in% accept_statuses) {
      abort_damaged(file.path(dir, "launch.json"), 1, "key 'checks.status' is '", printable(check$status), "', wanted ",
                    join_words(accept_statuses, "or"))
    }
    data.frame(launch = info$launch, check = check$name, status = check$status, reason = check$reason %||% NA_character_,
               repetitions = check$repetitions %||% 0)
  }))
  figures <- read_accept_csv(dir, "accept.csv", figure_rules, info)
  check_row_count(figures$data, file.path(dir, "accept.csv"), promised_rows(info))
  others <- read_others(info, file.path(dir, "launch.json"))
  taken <- taken_figures(others)
  if (NROW(taken) > 0) checks <- rbind(checks, data.frame(launch = info$launch, check = "others", status = "ran", reason = NA_character_, repetitions = 1))
  unknown <- is.na(figures$data$value)
  hist <- read_accept_csv(dir, "accept_hist.csv", accept_hist_rules, info)
  mismatches <- read_accept_csv(dir, "mismatches.csv", mismatch_rules, info)
  list(info = info, checks = checks, others = others, figures = bind_rows(list(figures$data[!unknown, ], taken)), hist = hist$data, mismatches = mismatches$data,
       notes = c(launch_notes(info), figures$notes, unknown_note(info, figures$data[unknown, ]), hist$notes, mismatches$notes))
}

# A figure that could not be told (steal where the kernel does not say) is a row without a value.
unknown_note <- function(info, rows) {
  if (nrow(rows) > 0) sprintf("launch %s: no value of %s (%s)", info$launch, few_words(unique(paste0(rows$check, ".", rows$metric)), 4),
                              counted(nrow(rows), "row"))
}

# As the detector's files, but that free text (hosts, variants) may be empty.
read_accept_csv <- function(dir, name, rules, info) {
  file <- file.path(dir, name)
  blank <- rules$name[rules$kind == "label" & rules$empty_ok]
  # A launch that died before its first row left an empty file.
  if (file.exists(file) && file.size(file) == 0) return(list(data = empty_table(rules)))
  rules$kind[rules$name %in% blank] <- "blank"
  got <- read_optional_csv(dir, name, rules, info, expected = FALSE)
  data <- as.data.frame(got$data)
  data[blank] <- lapply(data[blank], function(x) printable(ifelse(is.na(x), "", x)))
  if (is_old(info) && !is.null(data$metric)) data$metric <- new_names(data$metric)
  list(data = data, notes = got$notes)
}

# Nodes of one kernel whose ranks or scans were on the same CPU: what one of them did, the other felt.
shared_cpus <- function(infos, figures) {
  bind_rows(lapply(infos, function(info) {
    if (!isTRUE(info$shared_kernel)) return(NULL)
    bound <- bind_rows(lapply(info$placement, function(p) {
      if (is_number(p$cpu)) data.frame(host = show_json(p$host), cpu = p$cpu)
    }))
    scanned <- figures[figures$launch == info$launch & !is.na(figures$cpu) & nzchar(figures$host), c("host", "cpu")]
    pairs <- merge(unique(rbind(bound, scanned)), unique(rbind(bound, scanned)), by = "cpu", suffixes = c("_a", "_b"))
    unique(pairs[pairs$host_a < pairs$host_b, c("host_a", "host_b", "cpu")])
  }))
}

# What nodes must have in common to be compared.
alike <- c(kernel = "kernel", "CPU model" = "cpu_model", topology = "topology", CPUs = "cpuset", governor = "governor")

unlike_hosts <- function(infos) {
  hosts <- unlist(lapply(unname(infos), `[[`, "hosts"), recursive = FALSE)
  unlist(lapply(names(alike), function(name) {
    value <- vapply(hosts, function(h) show_json(h[[alike[[name]]]]), "")
    if (length(unique(value)) < 2) return(NULL)
    of <- vapply(split(vapply(hosts, function(h) show_json(h$host), ""), in_order(value)), function(h) few_words(unique(h), 4), "")
    sprintf("nodes are not alike, %s: %s; what differs between them may be that", name,
            paste(sprintf("%s (%s)", names(of), of), collapse = "; "))
  }))
}

find_self_check <- function(dirs) {
  found <- unlist(lapply(dirs, function(dir) if (!is_launch_dir(dir)) grep("-selfcheck$", launch_folders(dir), value = TRUE)))
  files <- file.path(dirs, schedule_file)
  said <- unlist(lapply(files[file.exists(files)], function(file) unname(read_schedule(file)$keys["self_check"])))
  said <- said[!is.na(said)]
  list(dirs = found, planned = if (length(said) == 0) NA else any(!grepl("^no\\b", said)),
       why_not = if (length(said) > 0) sub("^no:? *", "", grep("^no\\b", said, value = TRUE)[1]) else "no schedule plans one")
}

# Nodes known to be bad, which are left out until they are mended: a line `NODE DATE REASON` each.

#' Read the file of nodes known to be bad
#'
#' @param file Character, length 1; `#` begins a comment. NODE may be a list as Slurm writes it (`n[1-4,07]`). DATE is that from which on the node is left out (2026-01-31).
#' @return Data frame: `line`, `host`, `since`, `reason`.
#' @noRd
read_known_bad <- function(file) {
  if (!file.exists(file) || dir.exists(file)) abort_usage("--known-bad: '", file, "' is no file that can be read")
  lines <- read_stripped_lines(file)
  rows <- bind_rows(lapply(which(nzchar(lines)), function(i) {
    part <- regmatches(lines[i], regexec("^(\\S+)\\s+([0-9]{4}-[0-9]{2}-[0-9]{2})\\s+(\\S.*)$", lines[i]))[[1]]
    if (length(part) == 0 || is.na(as.Date(part[3], optional = TRUE))) abort_damaged(file, i, "'", printable(lines[i]),
        "' is not NODE DATE REASON (such as node7 2026-01-31 bad DIMM)")
    data.frame(line = i, host = nodes_of_word(part[2], file, i), since = part[3], reason = printable(part[4]))
  }))
  refuse_twins(rows, file, "stands in the file already")
  rows
}

# The campaign without these nodes: their figures, pairs and detours are not looked at. A data error of theirs is.
leave_out <- function(acceptance, known) {
  ended <- substr(last_end(acceptance), 1, 10)
  at <- hosts_meant(as.character(known$host), acceptance$hosts, "--known-bad")
  # of a cluster the campaign may be a part; of a name that is none nothing else would tell
  strange <- known$host[is.na(at)]
  if (length(strange) > 0) acceptance$notes <- c(acceptance$notes, sprintf("not in this campaign, of those known to be bad: %s", few_words(strange)))
  known$host <- acceptance$hosts[at]
  known <- known[!is.na(at) & known$since <= ended, ]
  if (NROW(known) == 0) return(acceptance)
  f <- acceptance$figures
  peer <- if (is.null(f$peer_host)) "" else f$peer_host
  acceptance$figures <- f[f$check == "integrity" | !(f$host %in% known$host | peer %in% known$host), ]
  acceptance$hist <- acceptance$hist[!acceptance$hist$host %in% known$host, ]
  acceptance$hosts <- setdiff(acceptance$hosts, known$host)
  acceptance$left_out <- known$host
  acceptance$notes <- c(acceptance$notes, sprintf("left out since %s: %s (%s)", known$since, known$host, known$reason))
  acceptance
}

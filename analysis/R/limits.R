# Limits that users set: one a line, `check[.variant].metric[ SIZE] <= VALUE UNIT`. None is built in.

limit_units <- list(
  ns = c(ns = 1, us = 1e3, ms = 1e6, s = 1e9),
  bytes_per_s = c("B/s" = 1, "kB/s" = 1e3, "MB/s" = 1e6, "GB/s" = 1e9, "KiB/s" = 1024, "MiB/s" = 1024^2, "GiB/s" = 1024^3),
  percent = c(percent = 1, "%" = 1), per_s = c(per_s = 1, "/s" = 1), ratio = c(ratio = 1)
)
limit_sizes <- c(B = 1, KiB = 1024, MiB = 1024^2, GiB = 1024^3)

# The unit that a figure has in accept.csv.
measure_unit <- function(check, name) {
  speed <- check %in% c("bandwidth", "topology") | name == "link_speed"
  share <- name %in% c("lost", "lost_worst_cpu", "preempted", "steal", "above_twice_median", "late_starts", "last_start", "last_end", "taken")
  ifelse(speed, "bytes_per_s", ifelse(share, "percent", ifelse(name == "coefficient", "ratio", ifelse(name == "detours", "per_s", "ns"))))
}

# What limits can be set on: measures and the quantiles of detours.
limit_keys <- function() {
  rows <- acceptance_measures[c("check", "name", "what", "worse")]
  quantiles <- data.frame(check = "detour", name = names(detour_quantiles),
                          what = paste(100 * detour_quantiles, "% of the detours are below"),
                          worse = "more")
  rows <- rbind(rows, quantiles)
  rows$unit <- measure_unit(rows$check, rows$name)
  rows
}

#' Read limits
#'
#' @param file Character, length 1: a file of lines `check[.variant].metric[ SIZE] <= VALUE UNIT` (or `>=`); `#` begins a comment. Without
#'   a variant or size a limit is of all of them. SIZE: bytes (`8`, `64KiB`), of `completeness` and `kernels` the number of nodes or ranks.
#'   A line `margin KIND PERCENT % [FLOOR UNIT]` changes a row of `acceptance_margins`.
#' @return Data frame with attribute `margins` (rows of `parse_margin()`), one row per limit: `line`, `check`, `variant` (NA: all),
#'   `metric`, `size` (NA: all), `relation` (`<=` or `>=`), `limit` (in `unit`, that of the figure), `text` (as written). Signals
#'   `nl_error_damaged` with file and line of every unknown name, unit or size, a line each.
#' @noRd
read_limits <- function(file) {
  check_argument(is_text(file), "file", file, "one file name")
  if (!file.exists(file) || dir.exists(file)) abort_usage("--limits: '", file, "' is no file that can be read")
  lines <- read_stripped_lines(file)
  is_margin <- grepl("^margin\\s", lines)
  at <- which(nzchar(lines) & !is_margin)
  # All that is wrong is said at once: a file is not corrected line by line and run by run.
  wrong <- character()
  note <- function(i, e) wrong[as.character(i)] <<- conditionMessage(e)
  parsed <- function(at, parse) bind_rows(Filter(Negate(is.null), lapply(at,
      function(i) tryCatch(parse(lines[i], file, i), nl_error = function(e) {
    note(i, e)
    NULL
  }))))
  margins <- parsed(which(is_margin), parse_margin)
  rows <- parsed(at, parse_limit)
  if (NROW(rows) > 0) {
    for (i in rows$line[duplicated(rows[c("check", "variant", "metric", "size", "relation")])]) {
      tryCatch(abort_damaged(file, i, "this limit was set before"), nl_error = function(e) note(i, e))
    }
  }
  if (length(wrong) > 0) nl_abort(c("nl_error_several", "nl_error_damaged"), paste(wrong[order(as.integer(names(wrong)))], collapse = "\n"))
  if (NROW(rows) == 0) rows <- data.frame(line = integer(), check = character())
  structure(rows, margins = if (NROW(margins) > 0) margins)
}

parse_limit <- function(text, file, line) {
  stop_here <- function(...) abort_damaged(file, line, ...)
  part <- regmatches(text, regexec("^(\\S+)(\\s+[0-9]\\S*)?\\s*(<=|>=)\\s*([0-9.eE+-]+)\\s*(\\S+)$", text))[[1]]
  if (length(part) == 0) stop_here("'", printable(text),
                                   "' is not check[.variant].metric[ SIZE] <= VALUE UNIT (try noiselab analyze acceptance --write-limits)")
  keys <- limit_keys()
  check <- sub("\\..*", "", part[2])
  if (!check %in% keys$check) stop_here("unknown check '", printable(check), "'", did_you_mean(check, unique(keys$check)))
  rest <- substring(part[2], nchar(check) + 2)
  own <- keys[keys$check == check, ]
  fits <- own[own$name == rest | endsWith(rest, paste0(".", own$name)), ]
  if (nrow(fits) == 0) stop_here("unknown figure '", printable(rest), "' of ", check, did_you_mean(rest, own$name))
  key <- fits[which.max(nchar(fits$name)), ]
  variant <- if (rest == key$name) NA_character_ else substring(rest, 1, nchar(rest) - nchar(key$name) - 1)
  if (!is.na(variant) && !is_variant(check, variant)) {
    stop_here("unknown variant '", printable(variant), "' of ", check, did_you_mean(variant, acceptance_variants[[check]]))
  }
  size <- if (nzchar(part[3])) {
    scaled_option(stripped(part[3]), limit_sizes, paste0(file, ":", line, ": '", printable(stripped(part[3])),
                                                       "' is not a size (try 8, 64KiB)"))
  } else NA_real_
  units <- limit_units[[key$unit]]
  if (!part[6] %in% names(units)) {
    stop_here("unknown unit '", printable(part[6]), "' of ", key$check, ".", key$name, did_you_mean(part[6], names(units)))
  }
  value <- suppressWarnings(as.numeric(part[5]))
  if (!is.finite(value)) stop_here("'", printable(part[5]), "' is not a number that can be a limit")
  wanted <- if (key$worse == "more") "<=" else ">="
  if (part[4] != wanted) {
    stop_here(key$check, ".", key$name, " ", part[4], ": the limit is on the wrong side, ", key$worse, " is worse (write ", wanted, ")")
  }
  data.frame(line = line, check = check, variant = variant, metric = key$name, size = size, relation = part[4], limit = value *
             units[[part[6]]],
             text = paste(part[4], part[5], part[6]))
}

# A commented template; with a judged campaign its figures stand beside.
limits_template <- function(judged = NULL) {
  keys <- limit_keys()
  measured <- judged$figures
  lines <- unlist(lapply(unique(keys$check), function(check) {
    own <- keys[keys$check == check, ]
    c("", paste0("# ---- ", check, ": ", own$unit[1], " ----"), unlist(lapply(seq_len(nrow(own)), function(i) {
      k <- own[i, ]
      relation <- if (k$worse == "more") "<=" else ">="
      got <- measured[measured$check == k$check & measured$metric == k$name, ]
      if (NROW(got) == 0) return(sprintf("# %s.%s %s VALUE %s   # %s", k$check, k$name, relation, names(limit_units[[k$unit]])[1], k$what))
      worst <- got[order(got$value * (if (k$worse == "more") -1 else 1)), ]
      worst <- worst[!duplicated(paste(worst$variant, worst$size)), ]
      worst <- worst[order(worst$variant, worst$size), ]
      sprintf("# %s%s.%s%s %s VALUE %s   # %s; measured here: %s %s%s", k$check,
              ifelse(nzchar(worst$variant), paste0(".", worst$variant), ""), k$name,
              ifelse(is.na(worst$size), "", paste0(" ", format_count(worst$size))), relation, names(limit_units[[k$unit]])[1], k$what,
              signif(worst$value, 4), worst$unit, ifelse(nzchar(worst$entity), paste0(" (", worst$entity, ")"), ""))
    })))
  }))
  c("# Limits for noiselab analyze acceptance --limits. Nothing here is active: take away the # of a line and put your own VALUE.",
    "# check[.variant].metric[ SIZE] <= VALUE UNIT; without variant or size the limit is of all of them. A limit is kept when the whole",
    "# confidence interval of a figure keeps it. Words that arrive wrong fail in any case.",
    "# By how much a node may be worse than the others, by kind of figure: margin KIND PERCENT % [FLOOR UNIT]. These are noiselab's own:",
    paste0("# margin ", acceptance_margins$kind, " ", acceptance_margins$percent, " % ",
           format(acceptance_margins$floor, scientific = FALSE, trim = TRUE, drop0trailing = TRUE), " ",
           vapply(limit_units[acceptance_margins$unit], function(u) names(u)[1], ""), "   # ", acceptance_margins$what),
    paste0("# Units: ", paste(vapply(limit_units, function(u) paste(names(u), collapse = " "), ""), collapse = "; "), "."), lines)
}

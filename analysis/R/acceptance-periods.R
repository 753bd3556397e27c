# Periods in the detours of an acceptance campaign, from its traces.

# Periods of the detours of each CPU: the strongest of its scans. `p`: of the spectrum's family of lines, times the number of scans.
detour_periods <- function(acceptance, alpha) {
  found <- bind_rows(lapply(names(acceptance$paths), function(id) {
    files <- list.files(acceptance$paths[[id]], "^detours\\..*\\.trace$", full.names = TRUE)
    bind_rows(lapply(files, function(file) {
      host <- sub("^detours\\.(.*)\\.trace$", "\\1", basename(file))
      if (host %in% acceptance$left_out) return(NULL)
      scans <- read_detour_trace(file)
      scans <- scans[vapply(scans$detours, NROW, 0L) >= least_distances, ]
      bind_rows(lapply(seq_len(NROW(scans)), function(i) {
        s <- scans[i, ]
        period <- spectral_period(cbind(s$detours[[1]], half = 1), data.frame(start = 0, wall = s$wall_ns), alpha)
        data.frame(launch = id, host = host, variant = s$variant, cpu = s$cpu, period_s = period$period, se_s = period$se, p = period$fap)
      }))
    }))
  }))
  if (nrow(found) == 0) return(NULL)
  found$p <- pmin(1, found$p * nrow(found))
  found <- found[!is.na(found$p) & found$p <= alpha, ]
  found <- found[order(found$p), ]
  found[!duplicated(found[c("launch", "host", "variant", "cpu")]), ]
}

# One row per scan; `detours`: a list of data frames (start_ns, duration_ns). A line that a dying launch left incomplete is left out.
read_detour_trace <- function(file) {
  lines <- read_text_lines(file)
  head <- regmatches(lines, regexec("^# scan: repetition ([0-9]+) variant (\\S+) cpu (-?[0-9]+) wall_ns ([0-9]+) detours ([0-9]+) kept ([0-9]+)", lines))
  at <- which(lengths(head) == 7)
  if (length(at) == 0) return(data.frame())
  part <- do.call(rbind, head[at])
  rows <- data.frame(repetition = as.numeric(part[, 2]), variant = part[, 3], cpu = as.numeric(part[, 4]), wall_ns = as.numeric(part[, 5]))
  ends <- c(at[-1] - 1, length(lines))
  rows$detours <- lapply(seq_along(at), function(i) {
    own <- lines[seq_len(ends[i] - at[i]) + at[i]]
    own <- own[grepl("^[0-9]+\t[0-9]+\t-?[0-9]+$", own)]
    if (length(own) == 0) return(NULL)
    cells <- data.table::tstrsplit(own, "\t", fixed = TRUE, type.convert = TRUE)
    data.frame(start_ns = as.numeric(cells[[1]]), duration_ns = as.numeric(cells[[2]]))
  })
  # Of a scan with too many detours only the first were kept: it is known up to the last of them.
  cut <- which(as.numeric(part[, 7]) < as.numeric(part[, 6]) & lengths(rows$detours) > 0)
  rows$wall_ns[cut] <- vapply(rows$detours[cut], function(d) sum(d[nrow(d), ]), 0)
  rows
}

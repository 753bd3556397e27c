# A loop's slices with known truth: work of 0.2 ms a slice, noise that comes at random, and bursts that each
# add `cost_us`.
simulate_loop <- function(seconds = 10, period_s = 0.1, length_us = 500, cost_us = length_us, noise_per_s = 5,
                          noise_us = 100, jitter = 0.01, seed = 1, random = FALSE) {
  begin_ns <- 1e12
  set.seed(seed)
  n <- round(seconds * 5000)
  ns <- 2e5 * exp(stats::rnorm(n, 0, jitter))
  hit <- sample.int(n, stats::rpois(1, noise_per_s * seconds), replace = TRUE)
  longer <- rowsum(1000 * stats::rexp(length(hit), 1 / noise_us), hit)
  at <- as.integer(rownames(longer))
  ns[at] <- ns[at] + longer
  total <- sum(ns)
  m <- floor(total / 1e9 / period_s)
  at <- if (random) {
    sort(stats::runif(m, 0, total))
  } else {
    (seq_len(m) - stats::runif(1)) * period_s * 1e9
  }
  slice <- findInterval(at, cumsum(ns) - ns)
  for (k in seq_len(m)) {
    ns[slice[k]] <- ns[slice[k]] + 1000 * cost_us
  }
  list(
    ns = round(ns),
    begin_ns = begin_ns,
    n = n,
    bursts = data.frame(start_ns = round(begin_ns + at + 1000 * cost_us * (seq_len(m) - 1)),
                        duration_ns = 1000 * length_us, cpu = 0)
  )
}

loop_track <- function(loop, ...) {
  locked_track(loop_timeline(loop$begin_ns, loop$n, loop$ns), loop$bursts, ...)
}

word_bytes <- function(x) {
  x <- x %% 4294967296
  # The bits of R's NA are those of 2^31.
  writeBin(suppressWarnings(as.integer(ifelse(x >= 2147483648, x - 4294967296, x))), raw(), 4,
           endian = "little")
}

# A slices.HOST.bin. `blocks`: data frame of config, arm (both from 0), order, flags, pair, start_ns,
# operations and the list column `ns`.
write_slices <- function(file, launch, blocks, host = "node1", version = 1,
                         configs = '[{"operation":"barrier","bytes":0}]',
                         arms = '[{"arm":"off","level_requested_percent":0},{"arm":"on"}]') {
  header <- sprintf('{"launch":"%s","host":"%s","rank":0,"cpu":0,"clock":"monotonic","configs":%s,"arms":%s}',
                    launch, host, configs, arms)
  header <- paste0(header, strrep(" ", -nchar(header) %% 4))
  con <- file(file, "wb")
  on.exit(close(con))
  writeBin(c(charToRaw("NLSLICES"), word_bytes(c(version, nchar(header))), charToRaw(header)), con)
  for (i in seq_len(nrow(blocks))) {
    b <- blocks[i, ]
    ns <- b$ns[[1]]
    words <- c(b$config, b$arm, b$order, b$flags, b$pair %% 2^32, b$pair %/% 2^32, b$start_ns %% 2^32,
               b$start_ns %/% 2^32, b$operations, length(ns))
    all <- c(words, ns)
    sums <- c(sum(all), sum((seq_along(all) * all) %% 2^32)) %% 2^32
    writeBin(c(charToRaw("SLCE"), word_bytes(c(words, sums, ns))), con)
  }
}

slice_block <- function(ns, pair = 0, order = 1, start_ns = 1e12, config = 0, arm = 1, flags = 0,
                        operations = 500) {
  row <- data.frame(config = config, arm = arm, order = order, flags = flags, pair = pair,
                    start_ns = start_ns, operations = operations)
  row$ns <- list(ns)
  row
}

# Adds to each launch of a simulated campaign what its nodes would have recorded: slices of the on halves,
# longer by `cost_us` where a burst falls.
add_slices <- function(dir, cost_us = 100) {
  campaign <- read_campaign(dir)
  for (id in names(campaign$launches)) {
    ranks <- campaign$ranks[campaign$ranks$launch == id, ]
    host <- as.character(ranks$host[1])
    rows <- on_rows(campaign, id)
    n <- pmax(10, floor(rows$wall_ns / 2e5) - 2)
    at <- 1 + vapply(n, function(k) sample.int(k - 5, 1), 0)
    blocks <- write_half_slices(campaign, id, host, rows, function(i) {
      ns <- round(2e5 * exp(rnorm(n[i], 0, 0.01)))
      replace(ns, at[i], ns[at[i]] + 1000 * cost_us)
    })
    starts <- vapply(seq_len(nrow(rows)),
                     function(i) rows$start_ns[i] + sum(blocks$ns[[i]][seq_len(at[i] - 1)]) + 1e4, 0)
    writeLines(
      c("# source: generator", "# origin_monotonic_ns: 5000000000000",
        sprintf("%.0f\t%.0f\t%d", sort(starts), 1e5, ranks$cpu[1])),
      file.path(campaign$paths[[id]], paste0("generator.", host, ".trace"))
    )
  }
  invisible(dir)
}

# The same for a simulated campaign with an agent: in its on halves the slices that its recorded bursts
# begin in are longer by `cost_us`.
add_agent_slices <- function(dir, cost_us) {
  campaign <- read_campaign(dir, arms = "any")
  for (file in campaign$bursts$file) {
    id <- campaign$bursts$launch[match(file, campaign$bursts$file)]
    rows <- on_rows(campaign, id)
    edit_lines(file, function(lines) sub("^# origin:.*", "# origin_monotonic_ns: 5000000000000", lines))
    bursts <- read_bursts(file)
    write_half_slices(campaign, id, sub("^bursts\\.(.+)\\.trace$", "\\1", basename(file)), rows, function(i) {
      mine <- bursts$start_ns[
        bursts$start_ns >= rows$start_ns[i] & bursts$start_ns < rows$start_ns[i] + rows$wall_ns[i]
      ]
      ns <- round(
        2e5 * exp(rnorm(max(10, floor((rows$wall_ns[i] - 1000 * cost_us * length(mine)) / 2e5) - 2), 0, 0.01))
      )
      for (at in mine) {
        slice <- findInterval(at - rows$start_ns[i], cumsum(ns) - ns)
        ns[slice] <- ns[slice] + 1000 * cost_us
      }
      ns
    })
  }
  invisible(dir)
}

on_rows <- function(campaign, id) {
  set.seed(match(id, names(campaign$launches)))
  campaign$rows[campaign$rows$launch == id & campaign$rows$arm == "on", ]
}

# `slices_of`: from the number of a row to the lengths of its slices.
write_half_slices <- function(campaign, id, host, rows, slices_of) {
  blocks <- do.call(rbind, lapply(seq_len(nrow(rows)), function(i) {
    slice_block(slices_of(i), pair = rows$pair[i], order = rows$order[i], start_ns = 5e12 + rows$start_ns[i])
  }))
  write_slices(file.path(campaign$paths[[id]], paste0("slices.", host, ".bin")), id, blocks, host,
               configs = sprintf('[{"operation":"%s","bytes":%.0f}]', rows$operation[1], rows$bytes[1]))
  blocks
}

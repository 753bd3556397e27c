judged <- function(...) judge_acceptance(simulated_acceptance(...))
blamed <- function(...) {
  rows <- compare_nodes(acceptance_units(simulated_acceptance(...)))
  unique(rows$entity[rows$verdict == "fail"])
}

test_that("a slow node of three is named, though |z| > 2 of mean and standard deviation cannot name one", {
  rows <- compare_nodes(acceptance_units(simulated_acceptance(slow_node = 2, seed = 1)))
  expect_setequal(rows$entity[rows$verdict == "fail"], "node2")
  values <- rows$value[rows$check == "detour" & rows$variant == "alone" & rows$metric == "lost"]
  expect_length(values, 3)
  expect_lt(max(abs(values - mean(values)) / sd(values)), 2)
})

test_that("a slow link is told from a slow node, with three nodes and with five", {
  for (nodes in c(3, 5)) {
    expect_equal(blamed(nodes = nodes, slow_link = c(1, 3), seed = nodes), "node1 - node3")
  }
})

test_that("clean campaigns of three nodes blame nobody", {
  expect_lte(sum(vapply(1:12, function(i) length(blamed(seed = i)) > 0, TRUE)), 1)
})

test_that(paste0("limits are read with their units, and what is unknown, or on the wrong side, is refused ",
                 "with its line"), {
  file <- tempfile()
  on.exit(unlink(file))
  writeLines(
    c("# ours", "latency.between.half_round_trip 8 <= 2.5 us", "bandwidth.one_way 64KiB >= 1 GiB/s",
      "detour.p99.9 <= 3 ms"),
    file
  )
  got <- read_limits(file)
  expect_equal(got$limit, c(2500, 1024^3, 3e6))
  expect_equal(got$metric, c("half_round_trip", "one_way", "p99.9"))
  expect_equal(got$size, c(8, 65536, NA))
  refused <- c("speed.one_way <= 1 us" = "unknown check 'speed'",
               "latency.ping <= 1 us" = "unknown figure 'ping' of latency",
               "latency.half_round_trip <= 1 MB/s" = "unknown unit 'MB/s' of latency",
               nonsense = "is not check", "latency.half_round_trip <= 1e999 us" = "'1e999' is not a number",
               "latency.half_round_trip >= 3 us" = "more is worse .write <=",
               "bandwidth.one_way <= 1 GB/s" = "less is worse .write >=",
               "latency.betwen.half_round_trip <= 3 us" = "unknown variant 'betwen' of latency.*between",
               "detour.alone.alone.lost <= 3 %" = "unknown variant",
               "topology.grid2d:4.0x2.per_channel >= 1 GB/s" = "unknown variant",
               "margin beauty 3 %" = "unknown kind", "margin latency 3 % 5 MB/s" = "unknown unit",
               "margin latency much" = "is not margin KIND")
  for (bad in names(refused)) {
    expect_error(limits_of("", bad), paste0(":2: .*", refused[[bad]]), class = "nl_error_damaged")
  }
  taken <- limits_of("topology.grid2d:4x2.per_channel >= 1 GB/s", "opcost.isend+wait.published <= 9 us",
                     "detour.all.p99.9 <= 9 us")
  expect_equal(taken$variant, c("grid2d:4x2", "isend+wait", "all"))
  # All that is wrong is said at once, a line for each, in the order of the file.
  writeLines(
    c("latncy.half_round_trip <= 1 us", "detour.alone.lost <= 1 %", "latency.half_round_trip <= 1 parsec",
      "detour.alone.lost <= 2 %", "latency.half_round_trip 8furlongs <= 1 us"),
    file
  )
  all <- strsplit(conditionMessage(expect_error(read_limits(file), class = "nl_error_damaged")), "\n")[[1]]
  expect_equal(sub(".*?:([0-9]+): .*", "\\1", all, perl = TRUE), c("1", "3", "4", "5"))
  expect_match(all[1], "did you mean latency\\?$")
  template <- limits_template(judged(seed = 1))
  expect_true(all(!nzchar(template) | startsWith(template, "#")))
})

test_that(paste0("a limit is the reference's own prediction bound and the margin, by hand; too few values ",
                 "give none"), {
  part <- data.frame(x = c(1, 2, 3, 4, 5, 6), launch = 1:6, entity = "", of = "cluster", scale = "linear",
                     worse = "more", check = "collective", metric = "above_twice_median", unit = "percent")
  got <- reference_bound(part, 0.99)
  # 20 % of it, which is more than 0.5 points
  expect_equal(got$limit, 1.2 * (3.5 + qt(0.99, 5) * sd(1:6) * sqrt(1 + 1 / 6)))
  # nothing passes beyond the worst of it and the margin
  expect_equal(got$nearer, 1.2 * 6)
  expect_true(is.na(reference_bound(part[1:4, ], 0.99)$limit))
  small <- reference_bound(transform(part, x = x / 10), 0.99)
  expect_equal(small$nearer, 0.6 + 0.5)
  result <- judge_acceptance(simulated_acceptance(seed = 1, slow_node = 2),
                             reference = simulated_acceptance(seed = 2))
  rows <- result$judgements[
    result$judgements$kind == "reference" & result$judgements$metric == "lost",
  ]
  expect_equal(unique(rows$entity[rows$verdict == "fail"]), "node2")
})

test_that("a wrong word fails, and names sender, receiver, offset and what was found", {
  result <- judged(mismatches = 2, seed = 1)
  expect_equal(result$verdict, "fail")
  row <- result$judgements[result$judgements$entity == "node1 -> node2", ]
  expect_match(row$effect, "rank 0 to rank 1, offset 4100 of 65536 bytes, expected 0000002a, found 0000012a")
  expect_equal(result$nodes$verdict, c("fail", "fail", "pass"))
})

test_that("a self-check that names another node leaves nothing but inconclusive", {
  dir <- local_acceptance(seed = 1)
  simulate_campaign(file.path(dir, "own"), nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(0, 1),
                    pairs = 40, seed = 1)
  file.rename(list.files(file.path(dir, "own"), full.names = TRUE)[1], file.path(dir, "x-selfcheck"))
  unlink(file.path(dir, "own"), recursive = TRUE)
  json <- file.path(dir, "x-selfcheck", "launch.json")
  named <- locate_noise(read_campaign(file.path(dir, "x-selfcheck")))$nodes
  named <- unique(named$host[named$found == "here"])
  for (chosen in c(named, "elsewhere")) {
    edit_json(json, function(info) {
      info$options$noise_nodes <- list(chosen)
      info
    })
    result <- judge_acceptance(read_acceptance(dir))
    expect_equal(result$verdict, if (chosen == named) "pass" else "inconclusive")
  }
  expect_match(result$answer, "may have missed a bad node; its self-check failed: ")
  expect_match(paste(read_campaign(dir)$notes, collapse = " "),
               "3 launch\\(es\\) of noiselab-accept are not read here")
})

test_that(paste0("the front ends write table, JSON, lines, JUnit, node files and report, and end with the ",
                 "verdict's status"), {
  dir <- local_acceptance(slow_node = 2, mismatches = 1, seed = 1)
  nodes <- file.path(dir, "partial")
  junit <- file.path(dir, "junit.xml")
  got <- status_of("noiselab-analyze", "acceptance", dir, "--json", "--write", paste0("nodes=", nodes),
                   "--write", paste0("junit=", junit))
  expect_equal(got$status, 1L)
  expect_equal(jsonlite::fromJSON(got$out)$verdict, "fail")
  expect_equal(readLines(file.path(nodes, "node2.txt"))[1:2],
               c("verdict: fail", "ended_utc: 2026-01-01T00:01:00Z"))
  expect_true(any(grepl("^failed: detour node2: ", readLines(file.path(nodes, "node2.txt")))))
  if (requireNamespace("xml2", quietly = TRUE)) {
    suite <- xml2::read_xml(junit)
    expect_equal(as.numeric(xml2::xml_attr(suite, "tests")), length(xml2::xml_find_all(suite, "testcase")))
    expect_equal(as.numeric(xml2::xml_attr(suite, "failures")),
                 length(xml2::xml_find_all(suite, "//failure")))
  }
  lines <- status_of("noiselab-analyze", "acceptance", dir, "--lines")$out
  expect_true(all(grepl("^[A-Za-z0-9_.+:-]+: \\S+( \\S+)?$", lines)))
  expect_false(anyDuplicated(sub(": .*", "", lines)) > 0)
  expect_true(any(grepl("^  node2, detour: ", status_of("noiselab-analyze", "acceptance", dir, "--all")$out)))
  short <- status_of("noiselab-analyze", "acceptance", dir)$out
  expect_lte(length(short), 24)
  expect_match(short[1], "^FAIL on 3 nodes: node")
  expect_match(short, "^! node", all = FALSE)
  bad <- file.path(dir, "bad")
  writeLines("node3 2025-12-01 bad DIMM", bad)
  expect_equal(status_of("noiselab-report", "--known-bad", bad, dir)$status, 0L)
  expect_match(read_html(file.path(dir, "report.html")), "eft out since 2025-12-01: node3 (bad DIMM)",
               fixed = TRUE)
  expect_true(all(file.exists(file.path(dir, "report_files",
                                        paste0("acceptance-", c("matrix", "map"), ".csv")))))
  other <- local_acceptance(seed = 2)
  short <- status_of("noiselab-compare", other, dir)$out
  expect_lte(length(short), 24)
  expect_match(short, "detour.alone.lost.node2 .* worse$", all = FALSE)
  got <- status_of("noiselab-compare", other, dir, "--margin", "10", "--all")
  expect_equal(got$status, 1L)
  expect_true(
    any(grepl("^detour.alone.lost.node2 .*changed: worse$", got$out)) ||
      any(grepl("node2.*changed: worse", got$out))
  )
  expect_equal(status_of("noiselab-analyze", dir)$status, 3L)
})

test_that("a damaged row is refused with its line", {
  dir <- local_acceptance(launches = 1, nodes = 1, seed = 1)
  edit_cells(file.path(dir, "sim-0001", "accept.csv"), 3, value = "fast")
  expect_error(read_acceptance(dir), "accept.csv:3: value is 'fast'", class = "nl_error_damaged")
})

# Lines of one scan as in detours.HOST.trace: bursts of 50 us, one every `period_ns`.
scan_lines <- function(cpu, wall_ns, period_ns, kept = Inf) {
  starts <- seq(1e5, wall_ns - 1e5, by = period_ns)
  shown <- head(starts, kept)
  c(
    sprintf("# scan: repetition 1 variant alone cpu %d wall_ns %.0f detours %d kept %d", cpu, wall_ns,
            length(starts), length(shown)),
    sprintf("%.0f\t50000\t%d", shown, cpu)
  )
}

test_that("a figure without a value is unknown: said, and left out", {
  dir <- local_acceptance(launches = 1, seed = 1)
  csv <- file.path(dir, "sim-0001", "accept.csv")
  edit_cells(csv, 3, value = "")
  name <- utils::read.csv(csv)[2, ]
  a <- read_acceptance(dir)
  expect_match(paste(a$notes, collapse = " "),
               sprintf("no value of %s.%s \\(1 row\\)", name$check, name$metric))
  expect_false(anyNA(a$figures$value))
  expect_s3_class(judge_acceptance(a), "nl_acceptance_verdict")
})

test_that(paste0("a launch that died keeps what it measured, one without a row is counted, and neither lets ",
                 "the campaign pass"), {
  dir <- local_acceptance(seed = 1)
  died <- function(id) {
    edit_info(file.path(dir, id, "launch.json"), {
      info["ended"] <- info["rows"] <- list(NULL)
      info$checks <- lapply(info$checks, function(check) utils::modifyList(check, list(status = "planned")))
    })
  }
  died("sim-0002")
  text <- readLines(file.path(dir, "sim-0002", "accept.csv"))
  cat(text[1:41], "sim-0002,lat", file = file.path(dir, "sim-0002", "accept.csv"), sep = "\n")
  died("sim-0003")
  writeLines(character(), file.path(dir, "sim-0003", "accept.csv"))
  a <- read_acceptance(dir)
  expect_match(a$notes, "was killed while it wrote this line", all = FALSE)
  expect_equal(sum(a$figures$launch == "sim-0002"), 40)
  expect_false("sim-0003" %in% a$figures$launch)
  result <- judge_acceptance(a)
  expect_equal(result$verdict, "inconclusive")
  expect_equal(max(result$figures$n_launches), 2)
  expect_false(any(result$comparisons$verdict == "fail"))
})

test_that("nodes that are not alike are said, and compared", {
  dir <- local_acceptance(seed = 1, slow_node = 2)
  for (id in list.files(dir)) {
    edit_info(
      file.path(dir, id, "launch.json"),
      for (i in 1:3) {
        info$hosts[[i]]$cpuset <- if (i == 3) "0-3" else "0-1"
      }
    )
  }
  # node3 has two CPUs more
  for (id in list.files(dir)) {
    csv <- file.path(dir, id, "accept.csv")
    rows <- data.table::fread(csv, colClasses = "character")
    more <- rows[!is.na(rows$cpu) & nzchar(rows$cpu) & rows$host == "node3", ]
    more$cpu <- as.character(as.numeric(more$cpu) + 2)
    data.table::fwrite(rbind(rows, more), csv, quote = FALSE)
    edit_json(file.path(dir, id, "launch.json"), function(info) {
      utils::modifyList(info, list(rows = nrow(rows) + nrow(more)))
    })
  }
  result <- judge_acceptance(read_acceptance(dir))
  expect_match(paste(result$notes, collapse = " "),
               "nodes are not alike, CPUs: 0-1 \\(node1, node2\\); 0-3 \\(node3\\)")
  expect_equal(unique(result$comparisons$entity[result$comparisons$verdict == "fail"]), "node2")
  expect_equal(length(unique(plot_acceptance_map(result, draw = FALSE)$line)), 8)
})

test_that("nodes of one kernel with a common CPU are found, in scans and in the binding of ranks", {
  dir <- local_acceptance(seed = 1, nodes = 2, launches = 1)
  expect_equal(NROW(read_acceptance(dir)$shared), 0)
  edit_info(file.path(dir, "sim-0001", "launch.json"), info$shared_kernel <- TRUE)
  expect_equal(read_acceptance(dir)$shared, data.frame(host_a = "node1", host_b = "node2", cpu = c(0, 1)))
})

test_that(paste0("a period of detours is found on its CPU, not where they come at random, and a cut scan ",
                 "ends with its last line"), {
  dir <- local_acceptance(launches = 1, seed = 1)
  set.seed(1)
  random <- sort(runif(500, 0, 5e9))
  trace <- file.path(dir, "sim-0001", "detours.node1.trace")
  writeLines(
    c(scan_lines(0, 5e9, 1e7),
      "# scan: repetition 1 variant alone cpu 1 wall_ns 5000000000 detours 500 kept 500",
      sprintf("%.0f\t50000\t1", random)),
    trace
  )
  writeLines(scan_lines(0, 5e9, 1e7, kept = 300), file.path(dir, "sim-0001", "detours.node2.trace"))
  cat("12345\t50", file = trace, append = TRUE) # the launch died in this line
  periods <- judge_acceptance(read_acceptance(dir))$periods
  expect_equal(periods[c("host", "cpu")][order(periods$host), ],
               data.frame(host = c("node1", "node2"), cpu = 0), ignore_attr = TRUE)
  expect_equal(periods$period_s, c(0.01, 0.01), tolerance = 1e-3)
  cut <- read_detour_trace(file.path(dir, "sim-0001", "detours.node2.trace"))
  expect_equal(cut$wall_ns, 1e5 + 299 * 1e7 + 5e4)
})

test_that("histograms of a node are those of its CPUs added, with quantiles only as far as the data go", {
  dir <- local_acceptance(launches = 1, nodes = 1, seed = 1)
  set.seed(5)
  # two CPUs: 60000 and 60000 detours in bins of 1 us
  per_cpu <- lapply(0:1, function(cpu) {
    us <- floor(rexp(60000, 1 / (5 + cpu))) + 5
    bins <- table(us)
    list(
      us = us,
      rows = data.frame(check = "detour", variant = "alone", metric = "detour", bytes = NA, node = 0,
                        host = "node1", rank = 0, cpu = cpu, lo_ns = as.numeric(names(bins)) * 1000,
                        hi_ns = as.numeric(names(bins)) * 1000 + 1000, count = as.vector(bins))
    )
  })
  data.table::fwrite(do.call(rbind, lapply(per_cpu, `[[`, "rows")),
                     file.path(dir, "sim-0001", "accept_hist.csv"), na = "")
  a <- read_acceptance(dir)
  merged <- node_histograms(a)
  expect_equal(sum(merged$count), 120000)
  expect_false(anyDuplicated(merged$lo_ns) > 0)
  values <- unlist(lapply(per_cpu, `[[`, "us")) * 1000
  expect_equal(merged$count[merged$lo_ns == 7000], sum(values == 7000))
  got <- judge_acceptance(a)$figures
  got <- got[got$check == "detour" & grepl("^p[0-9]", got$metric), ]
  expect_equal(got$metric, names(detour_quantiles)) # 120000 values reach to p99.999
  sorted <- sort(values)
  for (i in seq_along(detour_quantiles)) {
    at <- sorted[ceiling(detour_quantiles[i] * length(sorted))]
    expect_gte(got$value[i], at)
    expect_lte(got$value[i], at + 1000)
  }
})

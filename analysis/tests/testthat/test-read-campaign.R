small <- function(..., env = parent.frame()) {
  local_campaign(pairs = 12, levels_percent = c(0, 5), ..., env = env)
}

# A campaign damaged in one way after the other: `change` gets the lines of a file of its launch.
refuses <- function(dir, words, file, change, ..., class = "nl_error_damaged") {
  path <- file.path(dir, "sim-1", file)
  before <- readLines(path)
  edit_lines(path, change)
  expect_error(read_campaign(dir), words, ..., class = class)
  writeLines(before, path)
}

# The same of one cell: file, line (or arm, whose first line it is), column, value, words.
refuses_cell <- function(dir, name, line, column, value, words) {
  file <- paste0(name, ".csv")
  if (is.character(line)) line <- match(line, data.table::fread(file.path(dir, "sim-1", file))$arm) + 1
  refuses(dir, paste0(file, ":", line, ": ", words), file,
          do.call(put_cells, stats::setNames(list(line, value), c("lines", column))), fixed = TRUE)
}

test_that("a campaign is read with all rows, levels and launches", {
  dir <- small(launches = 2)
  got <- read_campaign(dir)
  expect_s3_class(got, "nl_campaign")
  expect_equal(nrow(got$rows), 2 * 12 * 2 * 2)
  expect_equal(names(got$launches), c("sim-1", "sim-2"))
  expect_equal(unique(got$rows$design), "lockin")
  expect_type(got$rows$start_ns, "double")
  expect_equal(got$notes, character())
})

test_that("launch directories are read as well as campaigns, each launch once", {
  dir <- small(launches = 2)
  inside <- list.dirs(dir, recursive = FALSE)
  expect_equal(length(read_campaign(inside)$launches), 2)
  expect_equal(length(read_campaign(inside[1])$launches), 1)
  expect_equal(length(read_campaign(c(dir, dir))$launches), 2)
  other <- small(launches = 1)
  expect_error(read_campaign(c(dir, other)), "'sim-1' occurs twice", class = "nl_error_usage")
})

test_that("a missing directory, an empty campaign, a missing launch.json and no rows are told apart", {
  expect_error(read_campaign(tempfile()), "not a directory", class = "nl_error_usage")
  empty <- tempfile()
  dir.create(empty)
  expect_error(read_campaign(empty), "no launch in", class = "nl_error_data")
  unlink(empty, recursive = TRUE)
  dir <- small(ended = NA)
  edit_lines(halves_of(dir), function(x) x[1])
  expect_error(read_campaign(dir), "has no rows", class = "nl_error_data")
  unlink(halves_of(dir))
  expect_error(read_campaign(dir), "halves.csv is missing", class = "nl_error_data")
  dir <- small()
  unlink(file.path(dir, "sim-1", "launch.json"))
  expect_error(read_campaign(dir), "launch.json is missing", class = "nl_error_data")
  # with rows it is lost; one that was killed before its first row takes nothing from the others
  dir <- small()
  dir.create(file.path(dir, "killed"))
  cat("launch,pair\n", file = file.path(dir, "killed", "halves.csv"))
  expect_equal(names(read_campaign(dir)$paths), "sim-1")
})

test_that("a damaged cell is refused with file and line", {
  broken <- list(
    list("halves", 5, "wall_ns", "abc", "wall_ns"),
    list("halves", 5, "wall_ns", "NaN", "wall_ns"),
    list("halves", 5, "wall_ns", "-3", "wall_ns"),
    list("halves", 5, "wall_ns", "", "wall_ns"),
    list("halves", 7, "arm", "maybe", "arm"),
    list("halves", 6, "operations", "1.5", "operations"),
    list("halves", 5, "launch", "other", "launch"),
    list("halves", 5, "operation", "a b", "operation"),
    list("halves", 5, "detour_ns", "NaN", "detour_ns"),
    list("halves", 4, "start_ns", "1", "start_ns goes back"),
    list("halves", 5, "operation", "reduce", "operation is 'reduce'"),
    list("halves", 4, "preempted_ns_max", "-2000000", "preempted_ns_max is '-2e+06'"),
    list("halves", 4, "preempted_ns_sum", "-2000000", "preempted_ns_sum is -2e+06"),
    list("halves", 2, "rank_steal_ns_sum", "x", "rank_steal_ns_sum"),
    list("halves", "on", "kind", "", "kind is empty, wanted a word in an on row"),
    list("halves", "off", "phase", "random", "phase is 'random', wanted nothing in an off row"),
    list("halves", "on", "pattern", "perodic", "pattern is 'perodic', wanted one of periodic, jittered"),
    list("halves", "on", "phase", "alined", "phase is 'alined', wanted one of random, aligned"),
    list("halves", "on", "placement", "rank 1", "placement is 'rank 1', wanted letters, digits"),
    list("halves", "on", "kind", "cache", "kind is 'cache', wanted what launch.json has: spin"),
    list("halves", "off", "requested_ns", "7", "requested_ns is 7 in an off row, wanted 0"),
    list("halves", "off", "level_requested_percent", "3",
         "level_requested_percent is 3 in an off row, wanted 0"),
    list("halves", "on", "requested_ns", "x", "requested_ns is 'x', wanted a number"),
    list("halves", "on", "requested_ns", "-1", "requested_ns is '-1', wanted at least 0"),
    list("hist", "on", "kind", "", "kind is empty, wanted a word in an on row"),
    list("hist", 3, "hi_ns", 1, "lo_ns"),
    list("ranks", "on", "pattern", "poisson", "pattern is 'poisson', wanted what launch.json has: periodic")
  )
  dir <- small()
  for (case in broken) do.call(refuses_cell, c(dir, case))
})

test_that(paste0("wrong field counts, repeated rows, edited headers and rows that the launch cannot have ",
                 "made are refused with file and line"), {
  changes <- list(
    "halves.csv:4: has 32 fields" = function(x) replace(x, 4, paste0(x[4], ",1")),
    "halves.csv:4: has 30 fields" = function(x) replace(x, 4, sub(",[^,]*$", "", x[4])),
    "halves.csv:4: has 1 fields" = function(x) append(x, "", 3),
    "halves.csv:1: column 'wall_ns' is missing" = function(x) sub("wall_ns", "wall", x),
    "has this arm twice" = function(x) c(x, x[3]),
    "level_requested_percent is 7" = function(x) sub(",on,5,", ",on,7,", x),
    "has this arm twice" = function(x) {
      at <- grep(",on,5,", x)[1:2]
      pair <- sub("^([^,]*,){4}([^,]*),.*", "\\2", x[at[1]])
      replace(x, at[2], sub("^(([^,]*,){4})[^,]*,", paste0("\\1", pair, ","), x[at[2]]))
    },
    "halves.csv:1: column 'kind' is missing" = function(x) sub("kind\\b", "other", x),
    "halves.csv:1: column 'requested_ns' is missing" = function(x) {
      sub("requested_ns", "other", x)
    }
  )
  dir <- small()
  for (i in seq_along(changes)) {
    refuses(dir, names(changes)[i], "halves.csv", changes[[i]])
  }
})

cut_end <- function(file, bytes) {
  raw <- readBin(file, "raw", file.size(file))
  writeBin(utils::head(raw, -bytes), file)
}

test_that("a file that was cut off is refused, unless the launch was killed", {
  dir <- small()
  cut_end(halves_of(dir), 7)
  expect_error(read_campaign(dir), "cut off", class = "nl_error_damaged")
  dir <- small(ended = NA)
  cut_end(halves_of(dir), 7)
  got <- read_campaign(dir)
  expect_equal(nrow(got$rows), 12 * 2 * 2 - 1)
  expect_match(got$notes, "was killed", all = FALSE)
  expect_match(got$notes, "halves.csv:49: .*left out", all = FALSE)
  expect_match(analyze_campaign(got, channels = "time")$notes, "1 row\\(s\\) without a partner", all = FALSE)
  shorten <- function(x) replace(x, length(x), substr(x[length(x)], 1, 20))
  edit_lines(halves_of(dir), shorten)
  expect_match(read_campaign(dir)$notes, "left out", all = FALSE)
  refuses(small(), "halves.csv:49: has", "halves.csv", shorten)
})

test_that("empty optional columns make a channel unavailable, and that is said", {
  dir <- small()
  edit_cells(halves_of(dir), 2:49, detour_ns = "", detours = "", base_ns = "")
  got <- analyze_campaign(read_campaign(dir))
  expect_equal(unique(got$verdicts$channel), c("time", "preempted", "steal"))
  expect_match(got$notes, "channel detour: not measured", all = FALSE)
})

# A change of what the lines of a JSON file say.
as_json <- function(change) function(lines) {
  jsonlite::toJSON(change(jsonlite::parse_json(paste(lines, collapse = "\n"))), auto_unbox = TRUE,
                   null = "null", digits = NA)
}

json_of <- function(dir, launch = 1) file.path(dir, paste0("sim-", launch), "launch.json")

test_that(paste0("lost and added rows are told by the count in launch.json, unless the launch was killed; ",
                 "levels are compared but for rounding"), {
  dir <- small()
  for (n in c(45, 1)) {
    refuses(dir, sprintf("halves.csv:%d: has %d rows, launch.json says 48", n, n - 1), "halves.csv",
            function(x) x[seq_len(n)])
  }
  dir <- local_campaign(pairs = 12, levels_percent = 0.3, ended = NA)
  edit_lines(halves_of(dir), function(x) sub(",on,0.3,", ",on,0.3000000000001,", x[1:20]))
  expect_equal(nrow(read_campaign(dir)$rows), 19)
})

test_that("an odd launch.json is damaged, not a bug", {
  odd <- list(
    options = function(i) replace(i, "options", list(3)),
    hosts = function(i) replace(i, "hosts", list("node1")),
    hosts = function(i) replace(i, "hosts", list(list("node1"))),
    generators = function(i) replace(i, "generators", list(list(list(1)))),
    mpi = function(i) replace(i, "mpi", list("Open MPI")),
    warnings = function(i) replace(i, "warnings", list("one")),
    warnings = function(i) replace(i, "warnings", list(list(list("a", "b")))),
    lateness_ns = function(i) {
      i$generators[[1]]$lateness_ns <- 5
      i
    },
    host = function(i) {
      i$generators[[1]]$host <- list("a", "b")
      i
    },
    operations = function(i) {
      i$options$operations <- list(list(1))
      i
    },
    design = function(i) {
      i$options$design <- "other"
      i
    },
    launch = function(i) {
      i$launch <- "a\033b"
      i
    },
    kinds = function(i) {
      i$options$kinds <- "spin"
      i
    },
    phases = function(i) {
      i$options$phases <- list(1)
      i
    },
    pattern = function(i) {
      i$generators[[1]]$levels[[1]]$pattern <- 3
      i
    }
  )
  dir <- small()
  for (n in seq_along(odd)) {
    refuses(dir, paste0("launch.json:1: key '.*", names(odd)[n]), "launch.json", as_json(odd[[n]]))
  }
  for (text in c("[1]", "3", "null", "\"text\"", "{")) {
    refuses(dir, "launch.json:1: not a JSON", "launch.json", function(x) text)
  }
  refuses(dir, "schema 99", "launch.json", function(x) sub('"schema": 2,', '"schema": 99,', x),
          class = "nl_error_schema")
})

test_that("control characters of launch.json do not reach the terminal", {
  dir <- small()
  edit_info(json_of(dir), {
    info$warnings <- list("red \033[31m\nline")
    info$generators[[1]]$ok <- FALSE
    info$generators[[1]]$host <- "a\007"
  })
  notes <- read_campaign(dir)$notes
  expect_match(notes, "red ?[31m?line", fixed = TRUE, all = FALSE)
  expect_match(notes, "generator on a? delivered", fixed = TRUE, all = FALSE)
})

test_that("a launch without rows is left out loudly where others have rows", {
  dir <- small(launches = 2)
  edit_info(json_of(dir), info[c("ended", "rows")] <- list(NULL))
  edit_lines(halves_of(dir), function(x) x[1])
  got <- read_campaign(dir)
  expect_equal(names(got$launches), "sim-2")
  expect_match(got$notes, "launch sim-1 has no rows and is left out", all = FALSE)
})

test_that("the treatment is read as factors, empty in off rows", {
  dir <- small(kinds = c("spin", "cache"), placements = "rank:0+rank:1")
  got <- read_campaign(dir)
  for (part in c("rows", "hist", "ranks")) {
    table <- got[[part]]
    expect_setequal(levels(table$kind), c("cache", "spin"))
    expect_equal(levels(table$placement), "rank:0+rank:1")
    expect_equal(is.na(table$phase), table$arm == "off")
  }
  expect_equal(got$rows$requested_ns == 0, got$rows$level_requested_percent == 0)
  expect_equal(treatment_table(got)$kind, c("spin", "cache"))
})

test_that("small negative times of two clocks are real, steal may be unknown, and older files have none", {
  dir <- small()
  edit_cells(halves_of(dir), 2, rank_steal_ns_max = "-7", rank_steal_ns_sum = "-9", preempted_ns_max = "-900",
             preempted_ns_sum = "-900")
  edit_cells(halves_of(dir), 3, rank_steal_ns_max = "", rank_steal_ns_sum = "")
  rows <- read_campaign(dir)$rows
  expect_equal(rows$preempted_ns_sum[1], -900)
  expect_identical(rows$rank_steal_ns_max[1:3], c(-7, NA, 0))
  expect_identical(rows$rank_steal_ns_sum[1:3], c(-9, NA, 0))
  edit_lines(halves_of(dir), function(x) sub(",[^,]*,[^,]*$", "", x))
  expect_false(any(c("rank_steal_ns_max", "rank_steal_ns_sum") %in% names(read_campaign(dir)$rows)))
})

test_that("files of synchronised starts are read, and without them their tables are empty", {
  dir <- local_starts(ranks = 4, nodes = 2)
  got <- read_campaign(dir)
  expect_equal(got$notes, character())
  expect_true(all(added_columns$starts[1:10] %in% names(got$rows)))
  expect_gt(nrow(got$starts_hist), 0)
  expect_equal(nrow(got$clocks), 8)
  expect_equal(unname(got$paths), normalizePath(file.path(dir, "sim-1")))
  # every start has a rank that ended last
  expect_equal(sum(got$ranks$last_ends), sum(got$rows$operations))
  unlink(file.path(dir, "sim-1", c("clocks.csv", "starts_hist.csv")))
  expect_match(read_campaign(dir)$notes, "clocks.csv is missing", all = FALSE)
  dir <- small()
  got <- read_campaign(dir)
  expect_equal(c(nrow(got$starts_hist), nrow(got$clocks)), c(0, 0))
})

test_that("columns of synchronised starts that are there and empty are as good as not there", {
  dir <- small()
  before <- read_campaign(dir)
  for (name in c("halves.csv", "ranks.csv")) {
    columns <- if (name == "halves.csv") added_columns$starts[1:10] else {
      c("first_starts", "last_starts", "last_ends", "start_cost_ns", "end_cost_ns", "overshoot_ns_sum",
        "overshoot_ns_max")
    }
    edit_lines(file.path(dir, "sim-1", name), function(x) paste0(x, ",",
        c(paste(columns, collapse = ","), rep(strrep(",", length(columns) - 1), length(x) - 1))))
  }
  edit_json(file.path(dir, "sim-1", "launch.json"), function(info) c(info, list(start = NULL)))
  after <- read_campaign(dir)
  expect_equal(after$rows, before$rows)
  expect_equal(after$ranks, before$ranks)
  expect_equal(analyze_campaign(after, channels = "time")$verdicts,
               analyze_campaign(before, channels = "time")$verdicts)
  # but some of them are not all of them
  edit_lines(file.path(dir, "sim-1", "halves.csv"), function(x) sub("spread_ns", "spread", x))
  expect_error(read_campaign(dir), "column 'spread_ns' is missing", class = "nl_error_damaged")
})

test_that(paste0("launches with and without synchronised starts are read together, said to be unlike, and ",
                 "many late starts are said"), {
  dir <- local_starts(pairs = 8)
  edit_info(json_of(dir), info$start$late_starts <- info$start$starts / 10)
  simulate_campaign(dir, pairs = 8, levels_percent = 5, prefix = "loop", seed = 2)
  got <- read_campaign(dir)
  expect_match(got$notes, "10.0 % of the starts were late", all = FALSE)
  expect_equal(unique(got$rows$launch[is.na(got$rows$global_ns)]), "loop-1")
  expect_match(analyze_campaign(got, channels = "time")$notes, "UNLIKE LAUNCHES: operations were started by",
               all = FALSE)
})

test_that("damage in the files of synchronised starts is named with file and line", {
  cases <- list(list("clocks", 2, "reason", "whim", "reason is 'whim', wanted first, schedule or residual"),
                list("starts_hist", 2, "measure", "size", "measure is 'size'"),
                list("starts_hist", 5, "hi_ns", 0, "lo_ns is"),
                list("halves", 2, "late_starts", 0.5, "late_starts is '0.5'"),
                list("ranks", 2, "last_ends", -1, "last_ends is '-1'"))
  dir <- local_starts()
  for (case in cases) do.call(refuses_cell, c(dir, case))
  leap <- function(info) utils::modifyList(info, list(start = list(mode = "leap")))
  refuses(dir, "key 'start.mode' is leap", "launch.json", as_json(leap))
})

test_that("one arm is enough where nothing is compared, and only there", {
  dir <- small()
  edit_lines(halves_of(dir), function(x) c(x[1], grep(",off,", x, value = TRUE)))
  expect_error(read_campaign(dir), "all 24 rows .* arm 'off'", class = "nl_error_data")
  dir <- local_starts(arms = "off", design = "single")
  expect_error(read_campaign(dir), "a comparison needs both", class = "nl_error_data")
  expect_equal(unique(read_campaign(dir, arms = "any")$rows$arm), "off")
  expect_error(read_campaign(dir, arms = "one"), "'arms'", class = "nl_error_usage")
})

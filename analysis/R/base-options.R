# What the programs take on their command lines: the options, and what their values mean.

# `again`: may be given several times, and then has several values.
option <- function(name, value = NA_character_, help, again = FALSE) {
  list(name = name, value = value, help = help, again = again)
}

# Those that mean the same in several programs.
usual_options <- function(...) {
  list(
    all = option("all", help = "print all tables instead of the answer on one screen"),
    json = option("json", help = "print JSON"), csv = option("csv", help = "print the estimates as CSV"),
    power = option("power", "P", "power at the detection limit (default 0.95)"),
    alpha = option("alpha", "P", "one-sided level (default 0.01); intervals have 1 - 2P (acceptance: 1 - P)"),
    out = option("out", "FILE", "write there instead of to stdout"),
    help = option("help", help = "print this help")
  )[c(...)]
}

# Options and operands in any order; --name value or --name=value; -- ends the options.
parse_arguments <- function(args, options) {
  values <- list()
  operands <- character()
  names_known <- vapply(unname(options), `[[`, "", "name")
  i <- 1
  while (i <= length(args)) {
    arg <- args[i]
    if (arg == "--") {
      operands <- c(operands, args[-seq_len(i)])
      break
    }
    if (arg == "-h") arg <- "--help"
    if (!startsWith(arg, "-") || arg == "-") {
      operands <- c(operands, arg)
    } else {
      name <- sub("^--", "", sub("=.*", "", arg))
      at <- match(name, names_known)
      if (!startsWith(arg, "--") || is.na(at)) {
        abort_usage("unknown option '", sub("=.*", "", arg), "'",
                    did_you_mean(name, names_known, " (try --help)", "--"))
      }
      takes_value <- !is.na(options[[at]]$value)
      before <- if (options[[at]]$again) values[[name]]
      if (grepl("=", arg, fixed = TRUE)) {
        if (!takes_value) abort_usage("--", name, " takes no value (got '", arg, "')")
        values[[name]] <- c(before, sub("^[^=]*=", "", arg))
      } else if (takes_value) {
        i <- i + 1
        if (i > length(args)) abort_usage("--", name, " needs a value: ", options[[at]]$help)
        values[[name]] <- c(before, args[i])
      } else {
        values[[name]] <- TRUE
      }
    }
    i <- i + 1
  }
  list(values = values, operands = operands)
}

# ": did you mean --json?" where one of the words is like the one typed; else what `otherwise` says. Much as
# in C (common/base/nl_words.c): two letters that changed places count as two.
did_you_mean <- function(typed, words, otherwise = paste0(" (try ", paste(words, collapse = ", "), ")"),
                         before = "") {
  if (length(words) == 0 || !nzchar(typed)) return(otherwise)
  plain <- function(x) gsub("-", "_", tolower(x), fixed = TRUE)
  distance <- utils::adist(plain(typed), plain(words))[1, ]
  n <- nchar(typed)
  distance[n >= 3 & startsWith(plain(words), plain(typed))] <- 1
  best <- which.min(distance)
  if (distance[best] > (if (n < 4) 1 else max(2, n %/% 3)) || distance[best] >= n) {
    otherwise
  } else {
    paste0(": did you mean ", before, words[best], "?")
  }
}

help_text <- function(usage, about, options, more) {
  left <- vapply(options, function(o) {
    paste0("  --", o$name, if (is.na(o$value)) "" else paste0(" ", o$value))
  }, "")
  help <- vapply(options, `[[`, "", "help")
  column <- min(most_option_columns, max(nchar(left))) + 2
  lines <- Map(function(left, help) {
    rest <- strwrap(help, text_width - column + 1)
    if (nchar(left) + 2 > column) left <- c(left, "") # its help begins below it
    rest <- c(rep("", length(left) - 1), rest)
    sub(" +$", "", paste0(sprintf("%-*s", column, c(left, rep("", length(rest) - length(left)))), rest))
  }, left, help)
  c(usage, "", help_lines(about), "", "Options:", unlist(lines, use.names = FALSE), "", help_lines(more))
}

most_option_columns <- 28

# Sentences fold as one text, and so does each item of a list, below its own text: what stands as far in goes
# on with it, but for the list of its tables.
help_lines <- function(lines) {
  indent <- nchar(sub("[^ ].*", "", lines))
  is_text <- indent == 0 & nzchar(lines)
  column <- c(sort(indent[indent > 6]), 0)[1]
  goes_on <- (column > 0 & indent == column & !grepl("^ *Tables for", lines)) |
    (is_text & c(FALSE, utils::head(is_text, -1)))
  unlist(lapply(split(lines, cumsum(!goes_on)), function(part) {
    text <- paste(c(part[1], trimws(part[-1])), collapse = " ")
    if (nchar(text) <= text_width) return(text)
    from <- if (grepl("^[^ ]", text)) {
      0
    } else if (column > 0 && substr(text, column, column) == " ") {
      column
    } else {
      nchar(sub("^( +([^ ]+ {2,})?).*", "\\1", text))
    }
    rest <- strwrap(substring(text, from + 1), text_width - from + 1)
    paste0(c(substring(text, 1, from), rep(strrep(" ", from), length(rest) - 1)), rest)
  }), use.names = FALSE)
}

# What the output is to be: text on one screen, all of the text, or data in one of two forms.
form_option <- function(values) {
  given <- intersect(c("json", "csv", "all"), names(values))
  if (length(given) > 1) abort_usage("--", given[1], " and --", given[2], " exclude each other")
  if (length(given) == 1) given else "text"
}

# Options that mean nothing to what was asked are refused, not passed over.
only_options <- function(values, what, known) {
  given <- setdiff(names(values), c("json", "csv", "all", "out", "help", known))
  if (length(given) == 0) return(invisible())
  why <- if (what == "summary" && given[1] == "alpha") ": rules P and N are defined at 99 %" else ""
  abort_usage("--", given[1], " does not apply to ", what, why)
}

# A number above `above` and below `below`, with or without "%" where it is a percentage; `otherwise` where
# none was given.
number_option <- function(name, text, otherwise, above, below, what) {
  if (is.null(text)) return(otherwise)
  value <- suppressWarnings(as.numeric(
    if (startsWith(what, "a percentage")) sub("\\s*%$", "", text) else text
  ))
  if (!is_number(value, above, below)) abort_usage("--", name, ": '", text, "' is not ", what)
  value
}

percent_option <- function(name, text, example, otherwise = NULL) {
  number_option(name, text, otherwise, 0, 100,
                paste0("a percentage above 0 and below 100 (try ", example, ")"))
}

# "NAME:KEY=VALUE,KEY=VALUE" as list(value =, keys =), as the programs in C have it; what has no = belongs
# to the value before it.
keyed_option <- function(name, text, known) {
  if (is.null(text)) return(NULL)
  value <- sub(":.*", "", text)
  if (value == text) return(list(value = text, keys = list()))
  parts <- regmatches(sub("^[^:]*:", "", text),
                      gregexpr("[^=,]+=[^=]*(?=,[^=,]+=|$)", sub("^[^:]*:", "", text), perl = TRUE))[[1]]
  keys <- as.list(sub("^[^=]*=", "", parts))
  names(keys) <- sub("=.*", "", parts)
  wrong <- setdiff(names(keys), known)
  if (length(keys) == 0 || length(wrong) > 0) {
    abort_usage("--", name, ": '", c(wrong, sub("^[^:]*:", "", text))[1], "' is not a key of it (",
                paste(known, collapse = ", "), ")")
  }
  list(value = value, keys = keys)
}

# WHAT=FILE, given again and again, as a list of files by what is in them.
files_option <- function(texts, known, of) {
  files <- as.list(sub("^[^=]*=", "", texts))
  names(files) <- sub("=.*", "", texts)
  odd <- which(!grepl("^[^=]+=.", texts) | !names(files) %in% known)
  if (length(odd) > 0) {
    abort_usage("--write: '", texts[odd[1]], "' is not WHAT=FILE that ", of, " can write (",
                paste(known, collapse = ", "), ")")
  }
  files
}

# The one language of margins: "1%" or "1" is of one node's slowdown, "1%:nodes=1000,every=1ms" of the
# slowdown of a program that synchronises so many nodes so often; "unseen=2ms" says that no burst is longer
# which may come and was not seen. NULL where none is asked, else a list: `percent`; `nodes` (1: of one
# node); `every_s` (s; NA on one node, or where `every` was left out, which only those allow, by
# `step_known`, who know the program's own step); `unseen_s` (s; of one node NA, where it was left out
# `usual_unseen_s`); `at_scale`; `words` ("1 % of one node's slowdown", "1 % on 1,000 nodes that synchronise
# every 1 ms"); `text`, which this function reads again.
margin_request <- function(text, step_known = FALSE) {
  if (is.null(text)) return(NULL)
  asked <- keyed_option("margin", text, c("nodes", "every", "unseen"))
  at_scale <- length(asked$keys) > 0
  most <- if (at_scale) 1e4 else 100
  plain <- sub("%?$", "%", sub(",", ".", sub("\\s*%$", "", asked$value), fixed = TRUE))
  example <- if (grepl("^[0-9]*[.][0-9]+%$", plain)) plain else "1%"
  percent <- number_option("margin", asked$value, NULL, 0, most, sprintf(
    "a percentage above 0 and below %g (try %s, or %s:nodes=1000,every=1ms)", most, example, example))
  if (!at_scale) {
    return(list(percent = percent, nodes = 1, every_s = NA_real_, unseen_s = NA_real_, at_scale = FALSE,
                words = sprintf("%s %% of one node's slowdown", format_level(percent)), text = text))
  }
  if (is.null(asked$keys$nodes)) {
    abort_usage("--margin: '", text, "' does not say of how many nodes (try ", asked$value,
                ":nodes=1000,every=1ms)")
  }
  nodes <- whole_option(asked$keys$nodes, "--margin: nodes")
  every_s <- duration_option(asked$keys$every, "--margin: every") %||% NA_real_
  if (is.na(every_s) && !step_known) {
    abort_usage("--margin: '", text, "' does not say how often the nodes synchronise (try ", asked$value,
                ":nodes=", asked$keys$nodes, ",every=1ms)")
  }
  unseen_s <- duration_option(asked$keys$unseen, "--margin: unseen") %||% usual_unseen_s
  list(percent = percent, nodes = nodes, every_s = every_s, unseen_s = unseen_s, at_scale = TRUE,
       words = margin_scale_words(percent, nodes, every_s), text = text)
}

# The longest burst that may come and was not seen, where nobody says another.
usual_unseen_s <- 0.05

# What a promise rests on that bursts of `unseen_s` may break, and longer ones are not asked about.
if_none_longer <- function(unseen_s) sprintf(" (if no burst is longer than %s)", format_time(unseen_s))

margin_scale_words <- function(percent, nodes, every_s) {
  sprintf("%s %% on %s that synchronise %s", format_level(percent),
          if (nodes == 1) "1 node" else paste(formatC(nodes, format = "d", big.mark = ","), "nodes"),
          if (is.na(every_s)) "as often as the program does" else paste("every", format_time(every_s)))
}

# The commands that judge a margin of many nodes; noiselab run (experiment.py) says the same.
scale_judges <- c("run agent", "run acceptance", "analyze agent", "analyze acceptance", "project")

# Percent of one node's slowdown; a margin on many nodes is refused, with who judges it.
margin_option <- function(text) {
  asked <- margin_request(text)
  if (!isTRUE(asked$at_scale)) return(asked$percent)
  abort_usage("--margin: '", text, "' is of many nodes; noiselab ", join_words(scale_judges, "and"),
              " judge that. Here give one of one node (try --margin ", sub(":.*", "", text), ")")
}
alpha_option <- function(text) {
  number_option("alpha", text, 0.01, 1e-4, 0.5, "a probability above 0.0001 and below 0.5 (try 0.01)")
}
power_option <- function(text) {
  number_option("power", text, 0.95, 0.05, 0.9999, "a probability above 0.05 and below 0.9999 (try 0.95)")
}
tested_options <- function(values) {
  list(margin = margin_option(values$margin), alpha = alpha_option(values$alpha),
       power = power_option(values$power))
}

# Names out of a closed list, separated by commas; NULL where none was given.
names_option <- function(name, text, known, what) {
  if (is.null(text)) return(NULL)
  wanted <- strsplit(text, ",", fixed = TRUE)[[1]]
  unknown <- setdiff(wanted, known)
  if (length(wanted) == 0 || length(unknown) > 0) {
    abort_usage("--", name, ": '", c(unknown, text)[1], "' is not a ", what,
                did_you_mean(c(unknown, text)[1], known))
  }
  wanted
}

level_option <- function(text) {
  if (is.null(text)) return(NULL)
  value <- suppressWarnings(as.numeric(sub("\\s*%$", "", strsplit(text, ",", fixed = TRUE)[[1]])))
  if (length(value) == 0 || any(!is.finite(value) | value < 0)) {
    abort_usage("--level: '", text, "' is not a list of levels (try 0.1,1)")
  }
  value
}

# The first of the tables is the default.
table_option <- function(values, tables) {
  if (is.null(values$table)) return(tables[1])
  if (!isTRUE(values$csv)) abort_usage("--table needs --csv (JSON has all tables)")
  if (!values$table %in% tables) {
    abort_usage("--table: '", values$table, "' is not a table", did_you_mean(values$table, tables))
  }
  values$table
}

whole_option <- function(text, name) {
  if (is.null(text)) return(NULL)
  if (!grepl("^[1-9][0-9]{0,6}$", text)) abort_usage(name, ": '", text, "' is not a positive whole number")
  as.numeric(text)
}

words_option <- function(text, name) {
  if (is.null(text)) return(NULL)
  words <- strsplit(paste0(text, ","), ",", fixed = TRUE)[[1]]
  odd <- !grepl("^[A-Za-z0-9._+:-]+$", words)
  if (length(words) == 0 || any(odd)) {
    abort_usage(name, ": '", text, "' is not a list of names (try ",
                if (name == "--bytes") "8,2KiB)" else "barrier,alltoall)")
  }
  unique(words)
}

# `bare`: whether a number without a unit will do.
scaled_option <- function(text, units, what, bare = TRUE) {
  number <- sub("^([0-9.]+) *([A-Za-z]*)$", "\\1", text)
  unit <- sub("^([0-9.]+) *([A-Za-z]*)$", "\\2", text)
  value <- suppressWarnings(as.numeric(number)) *
    if (nzchar(unit)) {
      unname(units[unit])
    } else if (bare) {
      1
    } else {
      NA
    }
  if (!is_number(value, 0)) abort_usage(what)
  value
}

# Only options whose name says the unit take a bare number.
duration_option <- function(text, name) {
  if (is.null(text)) return(NULL)
  scaled_option(text, c(ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, min = 60, h = 3600),
                paste0(name, ": '", text, "' is not a positive duration with its unit (try 10ms, 2s)"),
                bare = endsWith(name, "seconds"))
}

size_option <- function(text) {
  scaled_option(text, c(B = 1, kB = 1e3, MB = 1e6, GB = 1e9, KiB = 1024, K = 1024, MiB = 1024^2, M = 1024^2,
                        GiB = 1024^3, G = 1024^3),
                paste0("--bytes: '", text, "' is not a size (try 8, 4KiB, 1MiB)"))
}

# The words of noiselab analyze that answer an experiment of their own, by name: what each function
# `word_NAME()` says, beside its analysis. The fields are those of `analyze_words()`, and what the report of
# such a campaign begins with: `question`, and `sentences`, a function of an analysis (`campaign`, `alpha`,
# `margin`, `power`) that answers it.
own_words <- function() {
  package <- topenv()
  found <- ls(package, pattern = "^word_[a-z]+$")
  found <- stats::setNames(found, sub("^word_", "", found))
  Map(function(name, of) c(list(name = name), get(of, package)()), names(found), found)
}

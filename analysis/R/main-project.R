# noiselab project: what measured noise costs on many nodes.

# A function: option() is in a file that is read later.
project_options <- function() {
  list(
    option("nodes", "LIST", "numbers of nodes (default 1,100,1000,10000)"),
    option(
      "every", "LIST",
      "work between two synchronisations of all nodes, such as 100us,1ms (default 100us,1ms,10ms,100ms)"
    ),
    option("trace", "FILE", "the bursts of a trace of noiselab record; again for each node that was recorded",
           again = TRUE),
    option("task", "LIST", "with --trace: the bursts of these tasks only"),
    option(
      "burst", "TIME[:random=yes]",
      "without a record: what a burst costs; random: bursts come at any time, every --period on average"
    ),
    option("period", "TIME", "time between two bursts (with a record: if it is too short to show that)"),
    option("profile", "DIR",
           "take --every from this run of noiselab profile (default: from DIR, if that is a profile)"),
    option("level", "PERCENT", "a campaign with loads: project this level (default: the highest)"),
    option(
      "margin",
      "PERCENT",
      paste0("is the slowdown below this (1%: of one node; with --nodes: on all these; ",
             "1%:nodes=1000,every=1ms: on so many that synchronise so often, or as often as the program of ",
             "--profile)? Decides the exit status")
    ),
    option("reserve", "LIST:of=N",
           "so many of the N cores of each node are left free, such as 1,2:of=64: what that costs and saves"),
    option("phase-spread", "TIME",
           "if all nodes are hit at the same moment: the longest time between two of them (default 0)"),
    option("wander",
           help = "periods differ between nodes, so that phases wander (else they are fixed for a run)"),
    option("unseen", "TIME", "the longest burst that may have been missed (default 50ms)"),
    option(
      "pattern",
      "NAME[:KEY=VALUE,...]",
      paste0(
        "what follows each step, simulated by messages (default: an ideal synchronisation): ",
        paste(project_patterns, collapse = ", "),
        "; keys: bytes (default 8), latency (2.5us: a message is under way for so long), overhead (1.5us: ",
        "CPU time that it takes on each side), ",
        "bandwidth (10GB: bytes per second)"
      )
    ),
    option(
      "replicates", "A-B",
      "with --pattern: simulate the draws of phases with these numbers; --json writes a file for --merge"
    ),
    option("merge", help = "in place of DIR...: the files of several --replicates, joined into one answer"),
    option("alpha", "P", "one-sided level (default 0.01); intervals have 1 - 2P"),
    option("seed", "N", "seed of the draws of phases (default 1)"),
    option("json", help = "print JSON"),
    option("csv", help = "print the table as CSV"),
    option(
      "export",
      "NAME",
      paste(
        paste0("write the noise of each node for another simulator, or a program with it (goal), into the ",
               "directory of --out:"),
        paste(project_exports, collapse = ", ")
      )
    ),
    option("out", "FILE", "write there instead of to stdout; NAME.html: a page with a picture"),
    option("help", help = "print this help")
  )
}

project_help <- function() {
  help_text(
    c("Usage: noiselab project [OPTIONS] DIR...", "       noiselab project [OPTIONS] --trace FILE",
      "       noiselab project [OPTIONS] --burst TIME --period TIME",
      "       noiselab project --merge FILE..."),
    c(
      paste0("Computes what noise that was measured on few nodes costs on many that synchronise. The noise ",
             "is that of a campaign"),
      paste0("(its agent or load; acceptance: the detours; a profile: what delayed its ranks), that of a ",
             "trace, or bursts that you"),
      paste0("assume. Bursts hit each node on its own (independent phases), or all nodes at the same moment ",
             "(common phase).")
    ),
    project_options(),
    c(
      paste0("Times take a unit: 100us, 1ms. An array of jobs can share a large simulation: --replicates ",
             "1-10 --json --out part1,"),
      "and so on, then --merge part1 ...: the answer is that of one job.",
      "",
      paste0("Exit status: 0 it worked, whatever was found (with --margin: the slowdown is below it, phases"),
      paste0("independent); 1 with --margin: it is above; 2 wrong usage, environment or a damaged file; 3 ",
             "the data cannot answer"),
      "(no bursts known, --margin undecided); 70 a bug."
    )
  )
}

run_project <- function(operands, values, form) {
  projection <- if (isTRUE(values$merge)) {
    merged_projection(operands, values)
  } else {
    asked_projection(operands, values)
  }
  request <- projection$request
  if (!is.null(values$export)) {
    form <- names_option("export", values$export, project_exports, "export")
    if (is.null(values$out) || length(form) != 1) {
      abort_usage("--export: one at a time, and --out DIR says where to")
    }
    writeLines(export_noise(projection, form, values$out))
    return(invisible())
  }
  kept <- request$pattern$kept
  head <- c(projection_head(projection),
            if (form == "json" && !is.null(kept)) list(handed_on = projection$handed_on))
  if (form == "text" && isTRUE(grepl("[.]html?$", values$out))) {
    return(write_projection_page(projection, operands, values))
  }
  lines <- answered(
    form,
    NULL,
    head,
    c(list(projections = projection$rows, reserve = projection$reserve),
      if (form == "json") list(replicates = kept$rows)),
    projection$notes,
    NULL,
    new_view(projection_sentences(projection), projection_table(projection), projection_legend(projection),
             c(tail_warning(projection), unseen_warning(projection), projection$notes)),
    program = "noiselab-project"
  )
  write_output(as_lines(lines, values), values$out)
  if (!is.null(request$margin)) answer_status(projection$margin_answer)
}

# What a terminal shows of it, as a page with its picture.
write_projection_page <- function(projection, operands, values) {
  view <- new_view(projection_sentences(projection), NULL, NULL,
                   c(tail_warning(projection), unseen_warning(projection)))
  given <- unlist(lapply(setdiff(names(values), "out"), function(name) {
    if (isTRUE(values[[name]])) paste0("--", name) else c(rbind(paste0("--", name), values[[name]]))
  }))
  writeLines(write_projection_report(projection, view, c(given, operands), values$out))
  if (!is.null(projection$request$margin)) answer_status(projection$margin_answer)
}

asked_projection <- function(operands, values) {
  # what is wrong with the options is said before anything is read
  request <- project_request(values, step_known = TRUE)
  is_profile <- length(operands) == 1 && campaign_program(operands) == "noiselab-profile"
  program <- if (!is.null(values$profile)) {
    program_steps(values$profile)
  } else if (is_profile) {
    program_steps(operands)
  }
  if (is.null(program)) project_request(values)
  noise <- project_source(operands, values, request, program)
  if (!is.null(program)) {
    noise$notes <- c(noise$notes, program$words)
    if (!request$every_given) request$every_s <- program$every_s
  }
  if (identical(request$pattern$name, "profile")) {
    if (is.null(program)) abort_usage("--pattern profile: whose? (--profile DIR)")
    request$pattern$sequence <- program$sequence
  }
  projection <- make_projection(noise, request)
  if (!is.null(request$pattern$kept)) {
    projection$handed_on <- handed_on(
      projection,
      c(
        values,
        if (is.null(values$nodes) && !isTRUE(request$judges_one_node)) {
          list(nodes = paste(sprintf("%.0f", request$nodes), collapse = ","))
        },
        if (is.null(values$every)) {
          list(every = paste0(sprintf("%.17g", 1e9 * request$every_s), "ns", collapse = ","))
        }
      )
    )
  }
  projection
}

# The answer of all draws that jobs have written, as one would have given it.
merged_projection <- function(files, values) {
  wrong <- setdiff(names(values), asked_when_merged)
  if (length(wrong) > 0) abort_usage("--", wrong[1], ": is fixed by the files of --merge")
  if (length(files) == 0) abort_usage("--merge: which files?")
  parts <- read_replicates(files)
  asked <- parts$asked[setdiff(names(parts$asked), "margin")]
  margin <- margin_request(values$margin)
  # a margin of many nodes says which of the draws it judges
  said <- if (isTRUE(margin$at_scale)) {
    check_drawn(margin, parts$rows)
    c("nodes", "every", if (grepl("unseen=", margin$text, fixed = TRUE)) "unseen")
  }
  question <- c(asked[setdiff(names(asked), said)], values["margin"])
  request <- project_request(question[!vapply(question, is.null, TRUE)])
  sequence <- parts$sequence
  if (length(sequence) > 0) sequence[c("bytes", "work")] <- lapply(sequence[c("bytes", "work")], as.numeric)
  request$pattern$sequence <- if (length(sequence) > 0) as.data.frame(sequence)
  request$pattern$kept <- list2env(list(rows = parts$rows, merged = TRUE))
  noise <- parts$noise
  most <- max(parts$rows$replicate)
  lacking <- setdiff(seq_len(most), parts$rows$replicate)
  noise$notes <- c(unlist(noise$notes), if (length(lacking) > 0) sprintf(
    "of %d replicates %d are not in these files, the first is number %d", most, length(lacking), lacking[1]))
  projection <- make_projection(noise, request)
  projection$handed_on <- handed_on(projection, asked)
  projection
}

# Stops where the files have no draws of the nodes that a margin is of.
check_drawn <- function(margin, rows) {
  every_ns <- round(1e9 * margin$every_s)
  if (any(rows$nodes == margin$nodes & rows$every_ns == every_ns)) return(invisible(TRUE))
  each <- function(x, form) join_words(vapply(sort(unique(x)), form, ""))
  abort_usage(
    "--margin: '", margin$text, "': these files have draws of ", each(rows$nodes, nodes_words),
    ", synchronised every ", each(rows$every_ns / 1e9, format_time), "; draws of ",
    nodes_words(margin$nodes), " are made by noiselab project --replicates with --nodes ",
    sprintf("%.0f", margin$nodes), " --every ", option_time(margin$every_s)
  )
}

# Of launches of several programs those that bursts are best known of.
campaign_program <- function(dirs) {
  programs <- c("noiselab-accept", "noiselab-profile")
  of <- function(program) sum(lengths(lapply(dirs, find_launches, program = program)))
  found <- vapply(programs, of, 0)
  if (sum(found) < sum(lengths(lapply(dirs, all_launches)))) return("noiselab-detect")
  programs[which.max(found)]
}

# `step_known`: a program's profile may say how often nodes synchronise, so that a margin need not.
project_request <- function(values, step_known = FALSE) {
  margin <- margin_request(values$margin, step_known)
  if (isTRUE(margin$at_scale)) {
    told <- c("nodes", if (!is.na(margin$every_s)) "every",
              if (grepl("unseen=", values$margin, fixed = TRUE)) "unseen")
    twice <- intersect(told, names(values))
    if (length(twice) > 0) {
      abort_usage("--margin: '", values$margin, "' says ",
                  if (twice[1] == "unseen") "how long bursts may be that were not seen" else
                    "how many nodes there are, and how often they synchronise", ": leave out --", twice[1])
    }
    values$nodes <- sprintf("%.0f", margin$nodes)
    if (!is.na(margin$every_s)) values$every <- sprintf("%.17gs", margin$every_s)
  }
  nodes <- list_option(values$nodes, "--nodes", function(text, name) whole_option(text, name)) %||%
    c(1, 100, 1000, 10000)
  every <- list_option(values$every, "--every", duration_option) %||% c(1e-4, 1e-3, 1e-2, 1e-1)
  reserve <- keyed_option("reserve", values$reserve, "of")
  ranks <- whole_option(reserve$keys$of, "--reserve: of")
  cores <- list_option(reserve$value, "--reserve", function(text, name) whole_option(text, name))
  if (!is.null(cores) && is.null(ranks)) abort_usage("--reserve: of how many? (try --reserve 1,2:of=64)")
  if (any(cores >= ranks)) abort_usage("--reserve: ", max(cores), " of ", ranks, " cores leave no rank")
  list(
    pattern = pattern_request(values),
    nodes = nodes,
    every_s = every,
    every_given = !is.null(values$every),
    margin = margin$percent,
    judges_one_node = !is.null(margin) && is.null(values$nodes),
    ranks_per_node = ranks,
    reserve = cores,
    spread_s = duration_option(values[["phase-spread"]], "--phase-spread") %||% 0,
    wander = isTRUE(values$wander),
    unseen_s = duration_option(values$unseen, "--unseen") %||%
      (if (isTRUE(margin$at_scale)) margin$unseen_s) %||% usual_unseen_s,
    alpha = 2 * alpha_option(values$alpha),
    seed = whole_option(values$seed, "--seed") %||% 1,
    period_s = duration_option(values$period, "--period") %||% NA_real_
  )
}

list_option <- function(text, name, each) {
  if (is.null(text)) return(NULL)
  sort(unique(vapply(strsplit(paste0(text, ","), ",", fixed = TRUE)[[1]], each, 0, name, USE.NAMES = FALSE)))
}

project_source <- function(operands, values, request, program = NULL) {
  given <- c(DIR = length(operands) > 0, "--trace" = !is.null(values$trace),
             "--burst" = !is.null(values$burst))
  if (sum(given) != 1) {
    abort_usage(
      if (any(given)) {
        paste(paste(names(given)[given], collapse = " and "), "exclude each other")
      } else {
        "what is projected? give a campaign, --trace FILE, or --burst TIME --period TIME (try --help)"
      }
    )
  }
  of <- names(given)[given]
  belongs <- list(task = "--trace", level = "DIR")
  wrong <- names(Filter(function(wanted) wanted != of, belongs[intersect(names(belongs), names(values))]))
  if (length(wrong) > 0) abort_usage("--", wrong[1], " is for ", belongs[[wrong[1]]], " only")
  if (of == "DIR") {
    return(switch(
      campaign_program(operands),
      "noiselab-profile" = noise_of_profile(program %||% program_steps(operands[1])),
      "noiselab-accept" = noise_of_acceptance(operands, request$period_s),
      noise_with_behalf(read_campaign(operands, arms = "any"), level_option(values$level), request$period_s,
                        request$alpha / 2)
    ))
  }
  if (of == "--trace") {
    return(noise_of_traces(values$trace, words_option(values$task, "--task"), request$period_s))
  }
  if (is.na(request$period_s)) abort_usage("--burst: how often? (--period TIME)")
  burst <- keyed_option("burst", values$burst, "random")
  cost <- duration_option(burst$value, "--burst")
  is_random <- identical(burst$keys$random, "yes")
  name <- sprintf("A burst of %s every %s%s", format_time(cost), format_time(request$period_s),
                  if (is_random) " on average" else "")
  node_noise(name, cost, if (is_random) NA_real_ else request$period_s, 1 / request$period_s,
             cost_words = "assumed")
}

# Of a campaign with an agent and both arms with the bursts of others that are shown to work on its behalf.
noise_with_behalf <- function(campaign, level, told_s, alpha) {
  has_both <- is.null(level) && any(is_agent_row(campaign$rows)) &&
    length(unique(campaign$rows[["arm"]])) == 2
  named <- if (has_both) behalf_named(list(behalf_tasks = behalf_accounts(campaign, alpha), alpha = alpha))
  noise <- noise_of_campaign(campaign, level, told_s, records = records_with_behalf(campaign, named))
  noise$notes <- c(noise$notes, behalf_tasks_words(named, noise$name))
  noise
}

make_projection <- function(noise, request) {
  parted <- parted_noise(noise)
  rows <- project_noise(parted, request$nodes, request$every_s, request$alpha, request$spread_s,
                        request$wander, request$seed, request$pattern, unseen_s = request$unseen_s)
  margin <- request$margin
  # "1%" is of one node's slowdown wherever nobody says which nodes
  request$judged <- if (isTRUE(request$judges_one_node)) 1 else request$nodes
  judged <- rows[rows$nodes %in% request$judged, ]
  independent <- judged[judged$phase == "independent", ]
  answer <- if (!is.null(margin)) project_margin(independent, margin)
  searched <- if (is.null(margin)) noise else told_begins(noise)
  shortest <- function(phase) {
    shortest_period(searched, request$judged, request$every_s, margin / 100, phase, request$alpha,
                    request$spread_s, request$wander, request$seed, request$unseen_s)
  }
  # the largest number of nodes up to 1,000, and the step nearest to 1 ms
  asked <- rows[rows$phase == "independent", ]
  near <- asked[asked$nodes == max(asked$nodes[asked$nodes <= 1000], min(asked$nodes)), ]
  headline <- near[which.min(abs(log(near$every_ns / 1e6))), ]
  list(
    noise = noise,
    request = request,
    rows = rows,
    headline = headline,
    margin_answer = answer,
    unseen_decides = identical(answer, "inconclusive") && recorded_below(independent, margin),
    common_answer = if (!is.null(margin)) {
      project_margin(judged[judged$phase == "common", ], margin)
    },
    shortest_s = if (!is.null(margin) && is.null(request$pattern)) {
      c(independent = shortest("independent"), common = shortest("common"))
    },
    below = if (is.null(request$pattern)) {
      nodes_below(parted, headline$every_ns / 1e9, (margin %||% usual_margin) / 100, request$alpha,
                  request$wander, request$seed, request$unseen_s)
    },
    reserve = if (!is.null(request$reserve)) {
      reserve_rows(request$reserve, request$ranks_per_node, headline)
    },
    unseen = unseen_bursts(noise, headline, request),
    notes = noise$notes
  )
}

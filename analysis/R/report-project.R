# The report of a projection to many nodes.

# `command`: the words that make it again.
write_projection_report <- function(projection, command, file) {
  plots_dir <- files_beside(file)
  clear_plots_dir(plots_dir, "projection")
  frame <- plot_projection(projection, draw = FALSE)
  projection$frames <- list(projection = frame)
  write_atomically(file.path(plots_dir, "projection.csv"), function(path) data.table::fwrite(frame, path, na = ""))
  picture <- figure_parts(list(name = "projection", title = "Slowdown by number of nodes", question = "", asks = "size"), plot_projection(projection),
                          alt_projection(frame), c(9, 4.4), nrow(frame), plots_dir)
  sentences <- projection_sentences(projection)
  tags <- htmltools::tags
  write_page(html_page("What noise costs on many nodes", projection$noise$name, sentences, c(tail_warning(projection), unseen_warning(projection)),
                       figure_tag(picture, basename(plots_dir)), list(
    page_section("size", "How much, on how many nodes?", "Each node is hit on its own (independent phases).", NULL, list(projection_rows_table(projection, "independent"),
        reserve_table(projection)), list(details_tag("All nodes hit at the same moment", projection_rows_table(projection, "common")))),
    page_section("trust", "What is it taken from?", noise_sentence(projection$noise), NULL, notes_list(projection$notes)),
    page_section("again", "How to repeat it", sprintf("Projected by noiselab %s.", package_version_text()), NULL,
                 tags$pre(paste(vapply(command, quote_word, ""), collapse = " ")))
  )), file)
}

noise_sentence <- function(noise) {
  sprintf("%s %s per second, each %s, %s.", if (is.finite(noise$watched_s)) {
    sprintf("%s on %s in %s:", counted(noise$n_bursts, "burst"), nodes_words(noise$n_nodes), format_long(noise$watched_s))
  } else "Assumed:", format_level(noise$rate_hz), if (length(unique(noise$costs_s)) == 1) format_time(noise$costs_s[1]) else {
    sprintf("%s at most, half of them below %s", format_time(signif(max(noise$costs_s), 3)), format_time(signif(stats::median(noise$costs_s), 3)))
  }, paste("cost", noise$cost_words))
}

projection_rows_table <- function(projection, phase) {
  rows <- projection$rows[projection$rows$phase == phase, ]
  number <- function(x) ifelse(is.na(x), "-", format_effect(x, FALSE))
  open <- at_least(rows)
  list(html_table(list(every = format_time(rows$every_ns / 1e9), nodes = count_words_each(rows$nodes),
                       "slowdown, %" = ifelse(open, paste("at least", number(rows$ci_low)), number(rows$slowdown_percent)), CI = ifelse(open, "-", paste0(
                         "[", number(rows$ci_low), ", ", number(rows$ci_high), "]")), "limit, %" = number(rows$limit_percent), by = rows$method),
                  how = "Limit: on any number of nodes, where bursts keep to a period. By: how it was computed (docs/methods.md, Projection).",
                  text = c("every", "by")),
       reasons_fold(paste(nodes_words_each(rows$nodes), "every", format_time(rows$every_ns / 1e9)), rows$reason, "it is a lower bound"))
}

nodes_words_each <- function(n) vapply(n, nodes_words, "")

reserve_table <- function(projection) {
  rows <- projection$reserve
  if (is.null(rows)) return(NULL)
  html_table(list("cores left free" = rows$cores, "costs, %" = format_effect(rows$cost_percent, FALSE), "saves, %" = format_effect(rows$saved_percent, FALSE),
                  CI = paste0("[", format_effect(rows$saved_low, FALSE), ", ", ifelse(is.na(rows$saved_high), "?", format_effect(rows$saved_high, FALSE)), "]"),
                  verdict = rows$verdict), text = "verdict")
}

# How a report is put together: templates, style sheet and script are files of inst/report.

# A template with its values. htmltools escapes every text that is put in.
template <- function(name, ...) {
  htmltools::htmlTemplate(report_file(paste0(name, ".html")), ..., document_ = FALSE)
}

report_file <- function(name) system.file("report", name, package = "noiselab", mustWork = TRUE)

report_text <- function(name) htmltools::HTML(paste(readLines(report_file(name), encoding = "UTF-8"), collapse = "\n"))

# The whole page. `answer`: sentences; `alarms`: what is to be known before it is believed; `picture`: a tag; `sections`: tags of
# page_section(), NULL ones are left out.
html_page <- function(title, where, answer, alarms, picture, sections) {
  tags <- htmltools::tags
  sections <- Filter(Negate(is.null), sections)
  template("page", title = title, where = where, style = report_text("style.css"), script = report_text("sort.js"),
           answer = htmltools::tagList(lapply(answer, tags$p), lapply(alarms, function(text) tags$p(class = "loud", text))),
           picture = picture %||% "", contents = htmltools::tagList(lapply(sections, `[[`, "link")),
           sections = htmltools::tagList(lapply(sections, `[[`, "html")), footer = paste("Written by noiselab", package_version_text()))
}

# A question with its answer in a sentence, its plot, what stands open below it (`body`), and what is folded (`folds`: tags of
# details_tag()).
page_section <- function(id, title, sentence, picture = NULL, body = NULL, folds = NULL) {
  if (is.null(sentence)) return(NULL)
  tags <- htmltools::tags
  list(link = tags$li(tags$a(href = paste0("#", id), title)),
       html = template("section", id = id, title = title, sentence = upper_first(paste(sentence, collapse = " ")),
                       picture = picture %||% "",
                       body = htmltools::tagList(body), folds = htmltools::tagList(folds)))
}

details_tag <- function(title, ...) {
  body <- without_nulls(list(...))
  if (length(body) > 0) template("fold", title = title, body = htmltools::tagList(body))
}

# Lists of tags may hold nothing at any depth.
without_nulls <- function(x) {
  if (!is.list(x) || inherits(x, "shiny.tag")) return(x)
  Filter(function(part) length(part) > 0, lapply(x, without_nulls))
}

# ---- plots -------------------------------------------------------------------------------------

# `files_dir`: where the plot's own files are, as seen from the report.
figure_tag <- function(figure, files_dir) {
  if (is.null(figure)) return(NULL)
  tags <- htmltools::tags
  files <- paste0(files_dir, "/", figure$name, c(paste0(".", figure$picture$form), ".csv"))
  template("figure", id = figure$name, class = if (is.null(figure$narrow)) "" else "fits", title = paste0(figure$title, "."),
           subtitle = figure$subtitle,
           picture = htmltools::tagList(
             drawn_tag(figure$picture, figure$alt, figure$name, if (is.null(figure$narrow)) "drawn" else "drawn wide"),
             if (!is.null(figure$narrow)) drawn_tag(figure$narrow, figure$alt, paste0(figure$name, "-narrow"), "drawn narrow")
           ),
           caption = figure$caption, files = tags$p("Picture and data: ", paste(files, collapse = ", ")))
}

# Open to the eye and to those who have the picture read to them.
drawn_tag <- function(picture, alt, id, class) {
  tags <- htmltools::tags
  if (picture$form == "svg") return(tags$div(class = class, htmltools::HTML(inline_svg(picture$data, alt, id))))
  data <- paste0("data:image/png;base64,", gsub("\n", "", jsonlite::base64_enc(picture$data), fixed = TRUE))
  tags$div(class = class, tags$img(src = data, alt = alt, width = round(96 * picture$width), height = round(96 * picture$height)))
}

# The drawing as part of a page: without what only a file needs, with its text alternative, and with names that no other drawing has.
inline_svg <- function(text, alt, id) {
  text <- sub("^<\\?xml[^>]*\\?>\\s*", "", text)
  text <- gsub(" xmlns(:xlink)?='[^']*'", "", text)
  text <- sub(" width='[^']*' height='[^']*'", "", text)
  text <- gsub("(id='|url\\(#)cp", paste0("\\1", id, "-cp"), text)
  text <- gsub(" font-family: [^;]*;| lengthAdjust='[^']*'", "", text)
  # a tenth of a point is a third of a hair
  places <- gregexpr("(points|[xy][12]?|c[xy]|r|width|height)='[^']*'", text)
  regmatches(text, places) <- lapply(regmatches(text, places), function(x) gsub("([0-9]\\.[0-9])[0-9]", "\\1", x))
  text <- with_classes(text, paste0(id, "-s"))
  sub("<svg ", paste0("<svg role='img' aria-label='", htmltools::htmlEscape(alt, attribute = TRUE), "' "), text, fixed = TRUE)
}

# Styles that come back, of every point and every letter, stand once.
with_classes <- function(text, prefix) {
  styles <- table(unlist(regmatches(text, gregexpr("(?<= style=')[^']+(?=')", text, perl = TRUE))))
  styles <- names(styles)[styles > 2]
  if (length(styles) == 0) return(text)
  class <- paste0(prefix, seq_along(styles))
  for (i in seq_along(styles)) text <- gsub(paste0(" style='", styles[i], "'"), paste0(" class='", class[i], "'"), text, fixed = TRUE)
  sub("<defs>", paste0("<defs><style>", paste0(".svglite .", class, "{", gsub(": ", ":", gsub("; *", ";", styles)), "}", collapse = ""),
                       "</style>"), text, fixed = TRUE)
}

# ---- tables ------------------------------------------------------------------------------------

# A table of texts: `columns`, named list, heading -> text. Those named in `text` are words, the others numbers, `wrap` words that fold.
# `how`: what the columns mean, folded. `verdict`: the words behind the last column, which has their marks.
html_table <- function(columns, caption = NULL, how = NULL, text = character(), wrap = character(), verdict = NULL) {
  made <- Map(function(name, value) {
    value <- as.character(value)
    if (name %in% wrap) c(col_words(name, value), class = "wrap") else if (name %in% text) col_words(name, value) else
      col_number(name, value, value)
  }, names(columns), columns)
  page_table(do.call(new_table, c(unname(made), list(mark = verdict))), caption, how)
}

# `table`: an nl_table whose mark is the word of its last column.
page_table <- function(table, caption = NULL, how = NULL) {
  tags <- htmltools::tags
  if (!is.null(table$mark)) {
    last <- length(table$columns)
    table$columns[[last]]$text <- with_mark(table$columns[[last]]$text, table$mark)
    table$mark <- row_look(table$mark)
  }
  tags$div(class = "table", tags$div(class = "scroll", table_html(table, caption)),
           if (!is.null(how)) tags$details(class = "how", tags$summary("What the columns mean"), tags$p(how)))
}

row_look <- function(verdict) {
  colour <- verdict_looks$colour[match(verdict, verdict_looks$word)]
  ifelse(is.na(colour), "", paste0("look-", colour))
}

# Texts with the marks of their words, once.
with_mark <- function(text, words) {
  mark <- verdict_looks$mark[match(words, verdict_looks$word)]
  mark[is.na(mark)] <- ""
  ifelse(startsWith(text, mark), text, paste(mark, text))
}

# Each reason once, with the rows that it concerns (`name`, one per reason given); NULL without a reason.
reasons_fold <- function(name, reason, word = "inconclusive") {
  known <- !is.na(reason) & nzchar(reason)
  if (!any(known)) return(NULL)
  tags <- htmltools::tags
  of <- split(name[known], in_order(reason[known]))
  details_tag(sprintf("Why %s: %s in %s", word, counted(length(of), "reason"), counted(sum(known), "row")),
       tags$ul(Map(function(why, who) tags$li(paste0(upper_first(why), ": ", few_words(unique(who), 12), ".")), names(of), of)))
}

notes_list <- function(notes) {
  tags <- htmltools::tags
  if (length(notes) == 0) return(tags$p("Nothing odd was noticed."))
  tags$ul(lapply(upper_first(unique(notes)), tags$li))
}

write_page <- function(page, file) {
  write_atomically(file, function(path) writeLines(enc2utf8(as.character(page)), path, useBytes = TRUE))
  invisible(file)
}

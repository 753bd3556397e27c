# Which periods does a series hold? The spectrum, and what of it stands out of its own background.

least_points <- 16

# The generalised Lomb-Scargle periodogram (a sinusoid and a free mean by least squares at each frequency)
# of the series `x` at the rising times `t_s`, less a straight line, at two frequencies per 1/span up to
# half the rate of the samples. Where the times lie on a grid, with or without gaps, its sums come exactly
# from one fast Fourier transform; others are first spread over a fine grid (extirpolation with four
# points). Noise of real machines is red, so a power is compared with the background around it.
#
# A row per frequency: `frequency_hz`, `period_s`, `power` (white noise has its variance everywhere, a
# sinusoid of amplitude A adds n A^2/4), `background`, `worth` (independent powers m that its estimate is
# worth), `z` (power over background on the scale on which noise alone exceeds it with probability exp(-z):
# a power r times an estimated background is exceeded with (1 + r/m)^-m, so z = m log(1 + r/m)), `fap`
# (chance that the largest of the M frequencies searched does; NA beyond a third of the span). Attributes
# `n`, `span_s`, `searched` (M), `step_hz`, `reason` (why there is no row, else NA). Zechmeister and
# Kuerster (2009) Astronomy and Astrophysics 496, 577-584; Press and Rybicki (1989) Astrophysical Journal
# 338, 277-280; Scargle (1982) Astrophysical Journal 263, 835-853 (false alarms); Vaughan (2005) Astronomy
# and Astrophysics 431, 391-403 (red noise).
periodogram <- function(x, t_s) {
  n <- length(x)
  reason <- series_reason(x, t_s)
  if (!is.na(reason)) return(no_periodogram(n, reason))
  step <- stats::median(diff(t_s))
  span <- t_s[n] - t_s[1] + step
  y <- stats::lm.fit(cbind(1, t_s - mean(t_s)), x)$residuals
  if (stats::sd(y) <= 1e-10 * max(abs(x))) return(no_periodogram(n, "the series is a straight line"))
  sums <- fourier_sums(y, t_s - t_s[1], step, span)
  fit <- sinusoid_fit(sums, n)
  # The first frequencies below 1/span are no more than what is left of the trend.
  fit <- fit[fit$frequency_hz >= (1 - 1e-9) / span & is.finite(fit$power), ]
  if (nrow(fit) < least_points) return(no_periodogram(n, "no period from two samples to a third of the span"))
  fit$power <- pmax(fit$power, 0)
  floor_power <- max(fit$power) * 1e-14  # of an exact sinusoid the other powers are rounding errors
  background <- local_background(fit$frequency_hz, pmax(fit$power, floor_power), span * sums$step_hz)
  z <- background$worth * log1p(fit$power / background$level / background$worth)
  searched <- fit$frequency_hz >= 3 / span
  structure(data.frame(fit, background = background$level, worth = background$worth, z = z,
                       fap = ifelse(searched, false_alarm(z, sum(searched)), NA_real_)),
            n = n, span_s = span, searched = sum(searched), step_hz = sums$step_hz, reason = NA_character_)
}

series_reason <- function(x, t_s) {
  n <- length(x)
  if (n < least_points) {
    return(sprintf("%d point%s, a periodogram needs %d", n, if (n == 1) "" else "s", least_points))
  }
  if (max(x) - min(x) <= 1e-12 * max(abs(x))) return("the series is constant")
  NA_character_
}

no_periodogram <- function(n, reason) {
  columns <- c("frequency_hz", "period_s", "power", "background", "worth", "z", "fap")
  structure(as.data.frame(sapply(columns, function(name) numeric(), simplify = FALSE)), n = n,
            span_s = NA_real_, searched = 0, step_hz = NA_real_, reason = reason)
}

most_frequencies <- 2^19

# Sums of y exp(-i w t) and of exp(-i w t), exp(-2 i w t) at the frequencies k step_hz, k = 1, 2, ...
fourier_sums <- function(y, t, step, span) {
  shortest <- 2 * step
  place <- t / step
  on_grid <- max(abs(place - round(place))) < 1e-3
  # A median distance that is off in its last digits adds up over a long series: measure it over all of it.
  if (on_grid && round(place[length(t)]) > 0) step <- t[length(t)] / round(place[length(t)])
  points <- round(span / step)
  if (on_grid && points <= 4 * most_frequencies) {
    size <- stats::nextn(2 * points)
    at <- round(t / step) + 1
    step_hz <- 1 / (size * step)
    n_frequencies <- min(floor((1 / shortest) / step_hz * (1 + 1e-9)), ceiling(size / 2) - 1)
    spread <- function(v) replace(numeric(size), at, v)
  } else {
    step_hz <- 1 / (2 * span)
    n_frequencies <- min(floor(1 / shortest / step_hz), most_frequencies)
    size <- 2^ceiling(log2(n_frequencies * if (n_frequencies > 2^15) 16 else 64))
    u <- t * step_hz * size
    spread <- function(v) extirpolate(u, v, size)
  }
  k <- seq_len(max(0, n_frequencies))
  values <- stats::fft(spread(y))
  ones <- stats::fft(spread(rep(1, length(y))))
  list(frequency_hz = k * step_hz, y = values[k + 1], one = ones[k + 1], two = ones[(2 * k) %% size + 1],
       step_hz = step_hz)
}

# Values between grid points, given to the four around them, so that sums over slow functions stay as they
# were.
extirpolate <- function(u, v, size) {
  base <- floor(u)
  s <- u - base
  weights <- list(-s * (s - 1) * (s - 2) / 6, (s + 1) * (s - 1) * (s - 2) / 2, -(s + 1) * s * (s - 2) / 2,
                  (s + 1) * s * (s - 1) / 6)
  at <- as.integer(unlist(lapply(-1:2, function(i) (base + i) %% size + 1)))
  sums <- rowsum(v * unlist(weights), at, reorder = FALSE)
  # in this order they are; to read rownames back takes longer than to sum
  replace(numeric(size), unique(at), sums)
}

# Least squares of a cosine, a sine and a constant at each frequency (Zechmeister and Kuerster, equations 5
# to 15).
sinusoid_fit <- function(sums, n) {
  c1 <- Re(sums$one) / n
  s1 <- -Im(sums$one) / n
  yc <- Re(sums$y) / n
  ys <- -Im(sums$y) / n
  cc <- (1 + Re(sums$two) / n) / 2 - c1^2
  ss <- (1 - Re(sums$two) / n) / 2 - s1^2
  cs <- -Im(sums$two) / n / 2 - c1 * s1
  d <- cc * ss - cs^2
  a <- (yc * ss - ys * cs) / d
  b <- (ys * cc - yc * cs) / d
  flat <- d < 1e-6  # sine or cosine is 0 at all times
  explained <- a * yc + b * ys
  explained[flat] <- NA
  data.frame(frequency_hz = sums$frequency_hz, period_s = 1 / sums$frequency_hz, power = n / 2 * explained)
}

# The z that it exceeds with probability `alpha`.
critical_z <- function(alpha, m) -log(-expm1(log1p(-alpha) / m))

# The chance that the largest of m independent exponential variables exceeds z.
false_alarm <- function(z, m) -expm1(m * log1p(-exp(-z)))

# Variance of the log of a median of exponential powers, over that of their mean (their density at the
# median is 1/2).
median_cost <- 1 / (2 * 0.5 * log(2))^2

# Level of the background at each frequency, and how many independent powers its error is worth.
local_background <- function(frequency, power, oversample, half_window = 150, least_window = 40) {
  n <- length(power)
  each <- max(1, round(oversample))
  y <- log(power) - log(log(2))
  u <- log(frequency)
  width <- 2 * half_window * each + 1
  low_end <- min(n, 4 * half_window * each)
  nodes <- background_nodes(n, low_end, each, half_window, least_window)
  fits <- vapply(seq_len(nrow(nodes)), function(i) {
    at <- seq(nodes$from[i], nodes$to[i], by = each)
    median_line(u[at], y[at], u[nodes$at[i]])
  }, numeric(2))
  level <- stats::approx(u[nodes$at], fits[1, ], u, rule = 2)$y
  worth <- stats::approx(u[nodes$at], fits[2, ], u, rule = 2)$y
  if (low_end < n) {
    # Far from 0 the window is narrow on the axis of log frequency, and a plain running median follows.
    running <- stats::runmed(y, width, endrule = "constant")
    high <- seq_len(n) > low_end
    level[high] <- running[high]
    worth[high] <- width / oversample / median_cost
  }
  list(level = exp(level), worth = worth)
}

# Where lines are fitted: windows from 2/3 to 3/2 of the frequency, not below or above a number of
# independent ones.
background_nodes <- function(n, low_end, each, half_window, least_window) {
  least <- min(n - 1, least_window * each)
  from <- to <- at <- numeric()
  i <- 1
  repeat {
    low <- max(1, min(floor(i / 1.5), i - least %/% 2), i - half_window * each)
    high <- min(n, max(ceiling(i * 1.5), low + least), i + max(half_window * each, least))
    low <- max(1, min(low, high - least))
    from <- c(from, low)
    to <- c(to, high)
    at <- c(at, i)
    if (i >= low_end) break
    i <- min(low_end, i + max(1, (high - low) %/% 8))
  }
  data.frame(from = from, to = to, at = at)
}

# A line through y by least absolute deviations, at u0: its value, and the worth of its error (independent
# powers).
median_line <- function(u, y, u0) {
  centre <- mean(u)
  u <- u - centre
  u0 <- u0 - centre
  weight <- rep(1, length(u))
  for (i in 1:30) {
    total <- sum(weight)
    ubar <- sum(weight * u) / total
    ybar <- sum(weight * y) / total
    slope <- sum(weight * (u - ubar) * (y - ybar)) / max(sum(weight * (u - ubar)^2), 1e-300)
    level <- ybar - slope * ubar
    weight <- 1 / pmax(abs(y - level - slope * u), 1e-3)
  }
  leverage <- 1 / length(u) + u0^2 / max(sum(u^2), 1e-300)
  c(level + slope * u0, 1 / (leverage * median_cost))
}

# Lines of one period: a short burst per period has many harmonics, and the period they share is the finding.

harmonic_sums <- 2^(0:6)
most_harmonics <- 256

# The family of harmonics that stands out most, or NULL when none has a false-alarm probability up to alpha.
# `near`: look at fundamentals within `within_hz` of this frequency only, which costs fewer trials.
find_family <- function(spectrum, alpha, near = NULL, within_hz = 0) {
  if (nrow(spectrum) == 0) return(NULL)
  grid <- spectrum_grid(spectrum)
  best <- NULL
  for (n_sum in harmonic_sums) {
    j <- seq_len(length(grid$z))
    j <- j[j >= n_sum * grid$lowest]
    if (!is.null(near)) j <- j[abs(j * grid$step / n_sum - near) <= within_hz]
    if (length(j) == 0) next
    sums <- Reduce(`+`, lapply(seq_len(n_sum), function(k) grid$z[round(as.numeric(j) * k / n_sum)]))
    top <- which.max(sums)
    # A sum of n exponential variables is gamma distributed; all sums and places tried count.
    z <- -stats::pgamma(sums[top], n_sum, lower.tail = FALSE, log.p = TRUE)
    fap <- min(1, length(harmonic_sums) * false_alarm(z, length(j)))
    if (is.null(best) || fap < best$fap || fap == best$fap && z > best$z) {
      best <- list(frequency_hz = j[top] * grid$step / n_sum, fap = fap, z = z)
    }
  }
  if (is.null(best) || best$fap > alpha) return(NULL)
  best$frequency_hz <- fundamental_of(best$frequency_hz, grid)
  best
}

# z and excess power on the full grid of frequencies step, 2 step, ...
spectrum_grid <- function(spectrum) {
  step <- attr(spectrum, "step_hz")
  j <- round(spectrum$frequency_hz / step)
  full <- function(v) replace(numeric(max(0, j)), j, v)
  list(z = full(spectrum$z), excess = full(spectrum$power - spectrum$background),
       background = full(spectrum$background), step = step,
       lowest = ceiling(3 / attr(spectrum, "span_s") / step * (1 - 1e-9)))
}

# Where the k-th harmonics are; those above the highest frequency are left out.
harmonic_places <- function(frequency, k, grid) {
  j <- round(k * frequency / grid$step)
  j[j >= 1 & j <= length(grid$z)]
}

small_primes <- c(2, 3, 5, 7)

# A sum may have found every second, third ... harmonic only, or multiples of a longer period than the true
# one. The harmonics that tell the two apart are there, as strong as the others, or they are not.
fundamental_of <- function(frequency, grid) {
  for (round in 1:20) {
    next_one <- longer_period(frequency, grid) %||% shorter_period(frequency, grid)
    if (is.null(next_one)) break
    frequency <- next_one
  }
  frequency
}

longer_period <- function(frequency, grid) {
  for (p in small_primes) {
    if (frequency / p < grid$lowest * grid$step) next
    parts <- harmonics_by(frequency / p, p, 8 * p, grid)
    if (present(parts$others) && mean(parts$others_excess) >= 0.25 * mean(parts$multiples_excess)) {
      return(frequency / p)
    }
  }
  NULL
}

shorter_period <- function(frequency, grid) {
  for (p in small_primes) {
    parts <- harmonics_by(frequency, p, 8 * p, grid)
    if (length(parts$multiples) == 0 || !present(parts$multiples)) next
    if (!present(parts$others, 0.01)) return(p * frequency)
  }
  NULL
}

harmonics_by <- function(frequency, p, most, grid) {
  k <- seq_len(max(p, min(most, most_harmonics)))
  multiple <- harmonic_places(frequency, k[k %% p == 0], grid)
  other <- harmonic_places(frequency, k[k %% p != 0], grid)
  list(multiples = grid$z[multiple], others = grid$z[other], multiples_excess = grid$excess[multiple],
       others_excess = grid$excess[other])
}

present <- function(z, p = 1e-4) length(z) > 0 && stats::pgamma(sum(z), length(z), lower.tail = FALSE) < p

# The lines of a period that stand out by themselves: harmonic number, and by how much. Chance alone shows one
# in a hundred series.
harmonic_lines <- function(spectrum, frequency) {
  grid <- spectrum_grid(spectrum)
  k <- seq_len(min(most_harmonics, floor(length(grid$z) * grid$step / frequency)))
  z <- grid$z[round(k * frequency / grid$step)]
  out <- which(z > log(length(k) / 0.01))
  data.frame(harmonic = k[out], z = z[out])
}

# Frequency to a fraction of the resolution, by the phases of its strongest harmonics in parts of the
# series, and its standard error. A line of known place has var(f) = 3 / (2 z) / (pi T)^2, its k-th harmonic
# tells k times as much.
refine_frequency <- function(x, t_s, frequency, spectrum) {
  parts <- 64
  span <- attr(spectrum, "span_s")
  lines <- harmonic_lines(spectrum, frequency)
  if (nrow(lines) == 0) lines <- data.frame(harmonic = 1, z = 1)
  lines <- utils::head(lines[order(-lines$z * lines$harmonic^2), ], 12)
  y <- x - mean(x)
  part <- floor((t_s - t_s[1]) / span * parts)
  middle <- (as.numeric(unique(part)) + 0.5) / parts * span + t_s[1]
  sums <- lapply(lines$harmonic, function(k) {
    angle <- 2 * pi * ((k * frequency * t_s) %% 1)
    s <- rowsum(cbind(y * cos(angle), -y * sin(angle)), part, reorder = FALSE)
    complex(real = s[, 1], imaginary = s[, 2])
  })
  # Power over background, so that a strong line in strong noise does not outvote the others.
  grid <- spectrum_grid(spectrum)
  level <- grid$background[harmonic_places(frequency, lines$harmonic, grid)]
  together <- function(shift) {
    sum(vapply(seq_along(sums), function(i) {
      Mod(sum(sums[[i]] * exp(-2i * pi * lines$harmonic[i] * shift * middle)))^2 / level[i]
    }, 0))
  }
  reach <- attr(spectrum, "step_hz") / max(1, min(lines$harmonic))
  shifts <- seq(-reach, reach,
                length.out = 1 + 2 * ceiling(8 * max(lines$harmonic) / max(1, min(lines$harmonic))))
  top <- shifts[which.max(vapply(shifts, together, 0))]
  found <- stats::optimize(together, top + c(-1, 1) * diff(shifts[1:2]), maximum = TRUE,
                           tol = 1e-6 * reach)$maximum
  list(frequency_hz = frequency + found,
       se_hz = sqrt(3 / (2 * sum(lines$harmonic^2 * lines$z))) / (pi * span))
}

# Sine that would have been found with the power asked for: semi-amplitude at each frequency searched.
line_limit <- function(spectrum, alpha, power) {
  searched <- spectrum[!is.na(spectrum$fap), ]
  z <- critical_z(alpha, attr(spectrum, "searched"))
  critical <- searched$worth * expm1(z / searched$worth)
  some <- exp(seq(log(min(critical)), log(max(critical)), length.out = 20))
  ncp <- vapply(unique(some), function(r) noncentrality(2 * r, 2, power), 0)
  if (length(ncp) > 1) ncp <- stats::approx(log(unique(some)), ncp, log(critical), rule = 2)$y
  data.frame(period_s = searched$period_s,
             amplitude = sqrt(2 * ncp * searched$background / attr(spectrum, "n")))
}

# The noncentrality at which chi-square exceeds `critical` with probability `power`.
noncentrality <- function(critical, df, power) {
  short <- function(ncp) stats::pchisq(critical, df, ncp, lower.tail = FALSE) - power
  stats::uniroot(short, c(0, 10), extendInt = "upX", tol = 1e-6)$root
}

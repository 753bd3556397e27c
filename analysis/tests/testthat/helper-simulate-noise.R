# The noise of a simulated machine: one row per model. It belongs to the time slots of a launch, not to the arms
# that run in them, so nothing here knows an arm.

# `part`: `speed`, log time of everything in the slot (what the channel base sees, too); `lost`, ns of CPU time
# that other processes take in it; `scatter`, log time of its loop alone. `parameters`: name = c(default, smallest,
# largest). `draw` gets the number of slots, when they begin, and the parameters with `slot_s`, their length.
noise_models <- list(
  ar1 = list(
    name = "ar1", part = "speed", help = "the speed wanders and comes back: AR(1); phi 1 is a random walk",
    parameters = list(sd = c(0.002, 0, Inf), phi = c(0.99, -1, 1)),
    draw = function(n, times_s, model) {
      as.numeric(stats::filter(stats::rnorm(n, 0, model$sd), model$phi, method = "recursive"))
    }
  ),
  one_over_f = list(
    name = "one_over_f", part = "speed",
    help = "the speed wanders at all time scales: power 1/f^exponent over the launch",
    parameters = list(sd = c(0.004, 0, Inf), exponent = c(1, 0, 2)),
    draw = function(n, times_s, model) fractional_noise(stats::rnorm(n, 0, model$sd), model$exponent)
  ),
  drift = list(
    name = "drift", part = "speed", help = "everything becomes slower at an even rate",
    parameters = list(percent_per_s = c(0.5, -Inf, Inf)),
    draw = function(n, times_s, model) model$percent_per_s / 100 * times_s
  ),
  pareto = list(
    name = "pareto", part = "lost", help = "spikes with a tail of that index: no variance up to 2, no mean up to 1",
    parameters = list(rate = c(0.02, 0, 1), index = c(1.5, 0.1, Inf), scale_ns = c(5e3, 0, Inf)),
    draw = function(n, times_s, model) {
      (stats::runif(n) < model$rate) * model$scale_ns * (stats::runif(n)^(-1 / model$index) - 1)
    }
  ),
  lognormal = list(
    name = "lognormal", part = "lost", help = "spikes whose log is normal",
    parameters = list(rate = c(0.2, 0, 1), median_ns = c(2e4, 0, Inf), sd_log = c(1.5, 0, Inf)),
    draw = function(n, times_s, model) {
      (stats::runif(n) < model$rate) * model$median_ns * exp(model$sd_log * stats::rnorm(n))
    }
  ),
  agent = list(
    name = "agent", part = "lost",
    help = "another program takes the share amplitude of a CPU for the share duty of each period, in every arm",
    parameters = list(period_s = c(0.73, 1e-9, Inf), duty = c(0.02, 0, 1), amplitude = c(0.5, 0, 1)),
    draw = function(n, times_s, model) {
      phase_s <- stats::runif(1) * model$period_s
      busy_s <- function(t) {
        whole <- floor(t / model$period_s)
        whole * model$duty * model$period_s + pmin(t - whole * model$period_s, model$duty * model$period_s)
      }
      from <- times_s + phase_s
      1e9 * model$amplitude * (busy_s(from + model$slot_s) - busy_s(from))
    }
  ),
  white = list(
    name = "white", part = "scatter", help = "each loop by itself",
    parameters = list(sd = c(0.004, 0, Inf)),
    draw = function(n, times_s, model) stats::rnorm(n, 0, model$sd)
  )
)

# White noise through the filter whose power falls as 1/f^exponent: 0 leaves it as it is, 2 sums it up.
fractional_noise <- function(white, exponent) {
  n <- length(white)
  if (n < 2 || exponent == 0) return(white)
  k <- seq_len(n - 1)
  weights <- cumprod(c(1, (exponent / 2 + k - 1) / k))
  size <- stats::nextn(2 * n)
  pad <- numeric(size - n)
  product <- stats::fft(stats::fft(c(white, pad)) * stats::fft(c(weights, pad)), inverse = TRUE)
  Re(product[seq_len(n)]) / size
}

# What was asked for, names or a list of parameters by name, as a list of complete models. `defaults`: a list like it.
with_parameters <- function(wanted, table, defaults = list()) {
  if (is.character(wanted)) wanted <- stats::setNames(rep(list(list()), length(wanted)), wanted)
  stopifnot(names(wanted) %in% names(table), !anyDuplicated(names(wanted)))
  lapply(stats::setNames(names(wanted), names(wanted)), function(name) {
    limits <- table[[name]]$parameters
    values <- lapply(limits, `[[`, 1)
    given <- c(defaults[[name]], wanted[[name]])
    values[names(given)] <- given
    for (key in names(values)) stopifnot(key %in% names(limits), values[[key]] >= limits[[key]][2], values[[key]] <= limits[[key]][3])
    values
  })
}

# The sum of one part of the noise in each slot.
draw_noise <- function(noise, part, times_s, slot_s) {
  n <- length(times_s)
  total <- numeric(n)
  for (name in names(noise)) {
    if (noise_models[[name]]$part != part) next
    total <- total + noise_models[[name]]$draw(n, times_s, c(noise[[name]], slot_s = slot_s))
  }
  total
}

# How much slower a simulated code becomes by a dose: one row per shape. `slowdown` gets the preempted share (percent
# of one CPU), the amplification (the slope near 0 or of the rise; in `power` the slowdown at 1 %) and the
# parameters; it returns percent.
response_models <- list(
  linear = list(
    name = "linear", help = "amplification times the preempted share", parameters = list(),
    slowdown = function(preempted_percent, amplification, model) amplification * preempted_percent
  ),
  onset = list(
    name = "onset", help = "none up to a preempted share, linear beyond it",
    parameters = list(from_percent = c(0.3, 0, Inf)),
    slowdown = function(preempted_percent, amplification, model) {
      amplification * pmax(0, preempted_percent - model$from_percent)
    }
  ),
  power = list(
    name = "power", help = "amplification times a power of the preempted share",
    parameters = list(exponent = c(0.5, 0.01, 10)),
    slowdown = function(preempted_percent, amplification, model) amplification * preempted_percent^model$exponent
  ),
  saturating = list(
    name = "saturating", help = "rises with slope amplification to amplification times half_percent, half of it there",
    parameters = list(half_percent = c(0.5, 1e-9, Inf)),
    slowdown = function(preempted_percent, amplification, model) {
      amplification * preempted_percent / (1 + preempted_percent / model$half_percent)
    }))

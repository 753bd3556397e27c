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
    }
  )
)

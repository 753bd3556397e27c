/* A call that comes late on purpose. */
#pragma once

#include "detector/measure/late.h"

int nd_late_call(struct nd_op_state *state);

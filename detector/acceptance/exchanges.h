/* Operations between pairs of ranks, as rows of the detector's kind, so that they are timed like its own. Rank r has to do with rank r ^ 1;
 * the last one of an odd number has nobody, and does nothing. */
#ifndef NX_EXCHANGES_H
#define NX_EXCHANGES_H

#include "detector/ops/ops.h"

extern const struct nd_op nx_op_wtime, nx_op_send_nonblocking, nx_op_send_blocking, nx_op_sendrecv, nx_op_send_and_recv;

#endif

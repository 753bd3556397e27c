#include "detector/acceptance/exchanges.h"

enum { TAG = 9 };

static int check(const struct nd_op_state *s) {
    (void)s; /* whether data arrive as they left is what the check integrity asks */
    return 0;
}

/* -1: nobody. */
static int partner(const struct nd_op_state *s) { return (s->rank ^ 1) < s->n_ranks ? s->rank ^ 1 : -1; }
static int is_sender(const struct nd_op_state *s) { return s->rank % 2 == 0; }
static int send(struct nd_op_state *s) { return MPI_Send(s->send, s->count, s->type, partner(s), TAG, s->comm); }
static int receive(struct nd_op_state *s) { return MPI_Recv(s->receive, s->count, s->type, partner(s), TAG, s->comm, MPI_STATUS_IGNORE); }

static int wtime(struct nd_op_state *s) {
    volatile double now = MPI_Wtime();
    (void)now, (void)s;
    return MPI_SUCCESS;
}

static int send_nonblocking(struct nd_op_state *s) {
    MPI_Request request;
    if (partner(s) < 0) return MPI_SUCCESS;
    if (is_sender(s)) MPI_Isend(s->send, s->count, s->type, partner(s), TAG, s->comm, &request);
    else MPI_Irecv(s->receive, s->count, s->type, partner(s), TAG, s->comm, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int send_blocking(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return is_sender(s) ? send(s) : receive(s);
}

static int sendrecv(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return MPI_Sendrecv(s->send, s->count, s->type, partner(s), TAG, s->receive, s->count, s->type, partner(s), TAG, s->comm,
                        MPI_STATUS_IGNORE);
}

static int send_and_recv(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return is_sender(s) ? send(s) || receive(s) : receive(s) || send(s);
}

#define MESSAGE .has_bytes = 1, .datatype = &nd_type_byte, .check = check

const struct nd_op nx_op_wtime = {.name = "wtime", .help = "MPI_Wtime", MESSAGE, .call = wtime};
const struct nd_op nx_op_send_nonblocking = {.name = "isend+wait", .help = "MPI_Isend with MPI_Wait", MESSAGE, .call = send_nonblocking};
const struct nd_op nx_op_send_blocking = {.name = "send", .help = "MPI_Send", MESSAGE, .call = send_blocking};
const struct nd_op nx_op_sendrecv = {.name = "sendrecv", .help = "MPI_Sendrecv", MESSAGE, .call = sendrecv};
const struct nd_op nx_op_send_and_recv = {.name = "send+recv", .help = "MPI_Send and MPI_Recv", MESSAGE, .call = send_and_recv};

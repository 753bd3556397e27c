/* net: small UDP messages over the loopback, to a receiver of our own. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "noisegen/kinds/kinds.h"

enum { MESSAGE_BYTES = 64 };

struct net_state {
    int sender, receiver, error;
};

static void clean_up(void *state) {
    struct net_state *s = state;
    if (s->sender >= 0) close(s->sender);
    if (s->receiver >= 0) close(s->receiver);
}

/* Binds a socket to a port of its own; `address` receives which. A socket, -1 with errno. */
static int open_socket(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (bind(fd, (struct sockaddr *)address, size) == 0 &&
                   getsockname(fd, (struct sockaddr *)address, &size) == 0))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    (void)options;
    struct sockaddr_in from, to;
    struct net_state *s = state;
    s->sender = open_socket(&from);
    s->receiver = open_socket(&to);
    /* nobody but our sender may feed the receiver */
    if (s->sender >= 0 && s->receiver >= 0 && connect(s->sender, (struct sockaddr *)&to, sizeof to) == 0 &&
        connect(s->receiver, (struct sockaddr *)&from, sizeof from) == 0)
        return 0;
    return nl_say(reason, reason_size, "cannot send over 127.0.0.1: %m");
}

static int64_t work(void *state) {
    static const char message[MESSAGE_BYTES];
    struct net_state *s = state;
    ssize_t n = send(s->sender, message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR)
            return 0; /* the way is full: try again */
        s->error = errno;
        return -1;
    }
    char one; /* of a message longer than what is asked for the rest is thrown away */
    while (recv(s->receiver, &one, sizeof one, MSG_DONTWAIT) >= 0)
        continue;
    return 1;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct net_state *s = state;
    snprintf(text, size, "cannot send over 127.0.0.1: %s", strerror(s->error));
    return text;
}

const struct ng_kind ng_kind_net = {
    .name = "net",
    .help = "small UDP messages over the loopback",
    .unit = "messages",
    .period_ns = 10000000,
    .state_bytes = sizeof(struct net_state),
    .prepare = prepare,
    .work = work,
    .failure = failure,
    .clean_up = clean_up,
};

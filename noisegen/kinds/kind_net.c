/* net: small messages to an address; without one, over the loopback to a receiver of our own. Nothing leaves the machine unless the address
 * says so. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "noisegen/kinds/kinds.h"

enum { MESSAGE_BYTES = 64, CONNECT_MS = 2000 };

struct net_state {
    int sender;
    int receiver; /* -1: somebody else's */
    size_t n_sent; /* bytes of the message that are gone already; a stream may take a part */
    int error;
    char address[80];
    char message[MESSAGE_BYTES];
};

/* A parsed address. */
struct target {
    int type; /* SOCK_DGRAM or SOCK_STREAM */
    socklen_t n_bytes;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } to;
};

static void clean_up(void *state) {
    struct net_state *s = state;
    if (!s) return;
    if (s->sender >= 0) close(s->sender);
    if (s->receiver >= 0) close(s->receiver);
    free(s);
}

/* 1 to 65535 without signs, spaces or leading zeros; 0 for anything else. */
static int parse_port(const char *text) {
    size_t n_digits = strspn(text, "0123456789");
    if (n_digits < 1 || n_digits > 5 || text[n_digits] != '\0' || text[0] == '0') return 0;
    int port = atoi(text);
    return port <= 65535 ? port : 0;
}

static int parse_ip(const char *text, int is_v6, int port, struct target *target) {
    if (is_v6) {
        target->to.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        target->n_bytes = sizeof target->to.v6;
        if (inet_pton(AF_INET6, text, &target->to.v6.sin6_addr) != 1) return -1;
        return IN6_IS_ADDR_UNSPECIFIED(&target->to.v6.sin6_addr) ? -1 : 0;
    }
    target->to.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    target->n_bytes = sizeof target->to.v4;
    if (inet_pton(AF_INET, text, &target->to.v4.sin_addr) != 1) return -1;
    return target->to.v4.sin_addr.s_addr == htonl(INADDR_ANY) ? -1 : 0;
}

/* "udp:IP:PORT" or "tcp:IP:PORT", an IPv6 address in brackets. Numbers only: looking up a name is traffic that nobody asked for. */
static int parse_address(const char *text, struct target *target) {
    char ip[INET6_ADDRSTRLEN];
    if (strncmp(text, "udp:", 4) != 0 && strncmp(text, "tcp:", 4) != 0) return -1;
    target->type = text[0] == 'u' ? SOCK_DGRAM : SOCK_STREAM;
    text += 4;
    int is_v6 = text[0] == '[';
    const char *end = is_v6 ? strstr(text, "]:") : strrchr(text, ':');
    if (!end) return -1;
    size_t length = (size_t)(end - text) - (is_v6 ? 1 : 0);
    if (length >= sizeof ip) return -1;
    memcpy(ip, text + (is_v6 ? 1 : 0), length);
    ip[length] = '\0';
    int port = parse_port(end + (is_v6 ? 2 : 1));
    return port ? parse_ip(ip, is_v6, port, target) : -1;
}

/* Waits for a connection that is being made; -1 with errno. */
static int finish_connecting(int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int error = 0, n;
    socklen_t size = sizeof error;
    do n = poll(&wait, 1, CONNECT_MS);
    while (n < 0 && errno == EINTR);
    if (n < 0 || (n > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))) return -1;
    if (n == 0) error = ETIMEDOUT;
    errno = error;
    return error ? -1 : 0;
}

/* @return a socket connected to the target, -1 with errno. */
static int open_sender(const struct target *target) {
    int one = 1;
    int fd = socket(target->to.any.sa_family, target->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (target->type == SOCK_STREAM) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* each message a packet of its own */
    if (connect(fd, &target->to.any, target->n_bytes) == 0) return fd;
    if (errno == EINPROGRESS && finish_connecting(fd) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* @return a receiver on the loopback, its address in `target`; -1 with errno. */
static int open_receiver(struct target *target) {
    *target = (struct target){.type = SOCK_DGRAM, .n_bytes = sizeof target->to.v4};
    target->to.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, &target->to.any, target->n_bytes) == 0 && getsockname(fd, &target->to.any, &target->n_bytes) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Nobody but our sender may feed the receiver. */
static int accept_only(int receiver, int sender) {
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    if (getsockname(sender, (struct sockaddr *)&from, &size)) return -1;
    return connect(receiver, (const struct sockaddr *)&from, size);
}

static int open_sockets(struct net_state *s, const char *address, char *reason, size_t reason_size) {
    struct target target;
    if (address && parse_address(address, &target))
        return nl_say(reason, reason_size,
                         "--kind: address: '%s' is not an address with a port (try udp:127.0.0.1:9000 or tcp:[::1]:9000; numbers only)",
                         address);
    snprintf(s->address, sizeof s->address, "%s", address ? address : "our own receiver on 127.0.0.1");
    if (!address && (s->receiver = open_receiver(&target)) < 0) return nl_say(reason, reason_size, "cannot receive on 127.0.0.1: %m");
    s->sender = open_sender(&target);
    if (s->sender < 0 || (!address && accept_only(s->receiver, s->sender)))
        return nl_say(reason, reason_size, "%scannot reach %s: %m", address ? "--kind: address: " : "", s->address);
    return 0;
}

static int prepare(const struct ng_kind_options *options, void **state, char *reason, size_t reason_size) {
    struct net_state *s = calloc(1, sizeof *s);
    if (!s) return nl_say(reason, reason_size, "no memory");
    s->sender = s->receiver = -1;
    if (open_sockets(s, options->address, reason, reason_size)) {
        clean_up(s);
        return -1;
    }
    *state = s;
    return 0;
}

static int64_t work(void *state) {
    struct net_state *s = state;
    ssize_t n = send(s->sender, s->message + s->n_sent, sizeof s->message - s->n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR) return 0; /* the way is full: try again */
        s->error = errno;
        return -1;
    }
    char one; /* of a message longer than what is asked for the rest is thrown away */
    while (s->receiver >= 0 && recv(s->receiver, &one, sizeof one, MSG_DONTWAIT) >= 0) continue;
    s->n_sent += (size_t)n;
    if (s->n_sent < sizeof s->message) return 0;
    s->n_sent = 0;
    return 1;
}

static const char *failure(const void *state, char *text, size_t size) {
    const struct net_state *s = state;
    snprintf(text, size, "cannot send to %s: %s", s->address, strerror(s->error));
    return text;
}

const struct ng_kind ng_kind_net = {
    .name = "net", .help = "small UDP or TCP messages, over the loopback unless an address is given", .unit = "messages",
    .pacing = NG_PACING_DEADLINE, .period_ns = 10000000, .uses = NG_USES_ADDRESS, .prepare = prepare, .work = work, .failure = failure,
    .clean_up = clean_up,
};

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads the events of a queue with io_uring, together with a timer: a server that uses the ioctls
 * of <rdma/rdma_cm_alt.h> without a library. It accepts each connection, prints the number of
 * connections every second, and ends when COUNT connections have ended, or when the device is
 * removed. There are no QPs: the QP numbers in the replies belong to no QP, which iWARP does not
 * allow. Clients for it: connect, connect_many.
 *
 *	cc io_uring_events.c -o io_uring_events -luring
 *	io_uring_events ADDRESS PORT COUNT
 *
 * Channels of librdmacm_alt cannot be read like this: the library maps their ring, and only the
 * library may read() the descriptor (another reader in the process would take its events, and
 * another process gets EBUSY). For a channel, poll channel->fd with io_uring
 * (io_uring_prep_poll_add), and get events with rdma_alt_get_cm_events().
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netdb.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RECORDS 32

enum { EVENTS, TIMER };

struct server {
	struct io_uring uring;
	int device;
	int queue;
	__u32 listener;
	int removed;
	int count;
	int gone;
	struct rdma_cm_alt_event records[RECORDS];
};

static struct server server;

static int failed(const char *what, int error, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", what, strerror(error), advice);
	return -1;
}

static int open_device(struct server *s)
{
	struct rdma_cm_alt_queue_create queue = { .size = sizeof(queue) };

	s->device = open("/dev/rdma_cm_alt", O_RDWR | O_CLOEXEC);
	if (s->device < 0)
		return failed("/dev/rdma_cm_alt", errno, "is the module rdma_cm_alt loaded?");
	/* No ring (ring_entries 0); the record size is that of this program's header. */
	queue.record_size = sizeof(struct rdma_cm_alt_event);
	if (ioctl(s->device, RDMA_CM_ALT_QUEUE_CREATE, &queue))
		return failed("QUEUE_CREATE", errno, "are there descriptors left (ulimit -n)?");
	s->queue = queue.out_fd;
	return 0;
}

static int listen_at(struct server *s, const struct addrinfo *at)
{
	struct rdma_cm_alt_resolve bind = {
		.size = sizeof(bind),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_BIND,
			.queue_fd = s->queue,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
		},
	};
	struct rdma_cm_alt_listen listen = { .size = sizeof(listen) };

	memcpy(&bind.pipe.src, at->ai_addr, at->ai_addrlen);
	if (ioctl(s->device, RDMA_CM_ALT_RESOLVE, &bind))
		return failed("RESOLVE", errno, "has an RDMA device of this host that address?");
	listen.id = bind.out_id;
	if (ioctl(s->device, RDMA_CM_ALT_LISTEN, &listen))
		return failed("LISTEN", errno, "does another server have the port?");
	s->listener = listen.id;
	return 0;
}

static void destroy(struct server *s, __u32 id)
{
	struct rdma_cm_alt_destroy cmd = { .size = sizeof(cmd), .id = id };

	if (ioctl(s->device, RDMA_CM_ALT_DESTROY, &cmd))
		failed("DESTROY", errno, "the id stays");
}

static void accept_request(struct server *s, __u32 id)
{
	static __u32 last;
	struct rdma_cm_alt_accept cmd = {
		.size = sizeof(cmd),
		.flags = RDMA_CM_ALT_ACCEPT_QUIET,
		.id = id,
		.param = {
			/* A QP number in use would make peers end the older connection as stale. */
			.qp_num = ((__u32)getpid() << 12 | ++last) & 0xffffff,
			.rnr_retry_count = 7,
		},
	};

	if (!ioctl(s->device, RDMA_CM_ALT_ACCEPT, &cmd))
		return;
	failed("ACCEPT", errno, "the client has gone");
	destroy(s, id);
}

static void take_record(struct server *s, const struct rdma_cm_alt_event *record)
{
	switch (record->type) {
	case RDMA_CM_ALT_EVENT_CONNECT_REQUEST:
		accept_request(s, record->id);
		break;
	case RDMA_CM_ALT_EVENT_DISCONNECTED:
		s->gone++;
		destroy(s, record->id);
		break;
	case RDMA_CM_ALT_EVENT_CONNECT_ERROR:
	case RDMA_CM_ALT_EVENT_UNREACHABLE:
	case RDMA_CM_ALT_EVENT_REJECTED:
	case RDMA_CM_ALT_EVENT_DEVICE_REMOVAL:
		/* The only such event of the listener is DEVICE_REMOVAL. */
		s->removed |= record->id == s->listener;
		destroy(s, record->id);
		break;
	default:
		/* ADDR_CHANGE and TIMEWAIT_EXIT need no action. */
		break;
	}
}

/* The read completes when an event is pending, and returns all pending records that fit. */
static int read_events(struct server *s)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->uring);

	if (!sqe)
		return failed("io_uring_get_sqe", EBUSY, "the submission queue is full");
	io_uring_prep_read(sqe, s->queue, s->records, sizeof(s->records), 0);
	io_uring_sqe_set_data64(sqe, EVENTS);
	return 0;
}

static int start_timer(struct server *s)
{
	static struct __kernel_timespec second = { .tv_sec = 1 };
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->uring);

	if (!sqe)
		return failed("io_uring_get_sqe", EBUSY, "the submission queue is full");
	io_uring_prep_timeout(sqe, &second, 0, 0);
	io_uring_sqe_set_data64(sqe, TIMER);
	return 0;
}

static int on_events(struct server *s, int bytes)
{
	int i, n = bytes / (int)sizeof(s->records[0]);

	if (bytes < 0 && bytes != -EINTR)
		return failed("read of the queue", -bytes, "is it a queue of this device?");
	for (i = 0; i < n; i++)
		take_record(s, &s->records[i]);
	return s->gone < s->count && !s->removed ? read_events(s) : 0;
}

static int on_timer(struct server *s)
{
	printf("%d of %d\n", s->gone, s->count);
	return start_timer(s);
}

static int run(struct server *s)
{
	struct io_uring_cqe *cqe;
	__u64 what;
	int ret;

	if (read_events(s) || start_timer(s))
		return -1;
	while (s->gone < s->count && !s->removed) {
		ret = io_uring_submit_and_wait(&s->uring, 1);
		if (ret < 0 && ret != -EINTR)
			return failed("io_uring_submit_and_wait", -ret, "cannot wait");
		while (!io_uring_peek_cqe(&s->uring, &cqe)) {
			what = io_uring_cqe_get_data64(cqe);
			ret = cqe->res;
			io_uring_cqe_seen(&s->uring, cqe);
			if (what == EVENTS ? on_events(s, ret) : on_timer(s))
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct server *s = &server;
	struct addrinfo *res;
	int ret;

	s->count = argc == 4 ? atoi(argv[3]) : 0;
	if (s->count < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: io_uring_events ADDRESS PORT COUNT\n");
		return 2;
	}
	ret = io_uring_queue_init(8, &s->uring, 0);
	if (ret) {
		failed("io_uring_queue_init", -ret, "see kernel.io_uring_disabled, if it is EPERM");
		return 1;
	}
	if (open_device(s) || listen_at(s, res))
		return 1;
	freeaddrinfo(res);
	printf("listening\n");
	fflush(stdout);
	if (run(s))
		return 1;
	printf("%d came and went\n", s->gone);
	/* Closing the queue and the device releases everything, including the listener. */
	io_uring_queue_exit(&s->uring);
	close(s->queue);
	close(s->device);
	return s->removed;
}

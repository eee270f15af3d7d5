// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Executes commands on ids from its standard input, with the stack that it is linked with. One
 * line in, one line out: "ok ...", or the errno's name. Ids have numbers from 0, in the order
 * in which they come.
 *
 *	id [PS]				a new id; PS tcp (default), udp or ib
 *	option N LEVEL NAME VALUE	an option of a byte
 *	bind N ADDRESS PORT
 *	bindgid N GID SERVICE-ID
 *	service N SERVICE		the service records of SERVICE; ends with an event
 *	services N			"ok GID/SERVICE-ID/PKEY..." of the records
 *	lookup SERVICE			the same by rdma_getaddrinfo(), with "from GID" behind
 *	resolve N SOURCE ADDRESS PORT	SOURCE - for none; ends with an event
 *	route N				likewise
 *	join N ADDRESS			likewise
 *	listen N [BACKLOG]
 *	qp N				a QP for it, which iWARP devices require
 *	connect N [DATA]		likewise; DATA is private data: a word, or 0xHEX
 *	accept N [DATA]
 *	reject N [DATA]
 *	notify N
 *	establish N
 *	disconnect N
 *	destroy N [keep]		its QP as well, except with keep; "ok MICROSECONDS"
 *	abort N MS			a thread connects it, after MS it is destroyed without
 *					its QP: "ok RESULT MICROSECONDS" of the one, of the other
 *	event MS			"ok NAME STATUS N", of a request "ok NAME STATUS N NEW",
 *					"none" after that time
 *	place N				"ok DEVICE PORT SOURCE:PORT DESTINATION:PORT"
 *	path N				"ok KEY=VALUE ..." of the path record
 *	given N M [GID]			N, whose address is resolved, gets the path of M, or with
 *					another source
 *	attr N STATE			likewise of the attributes for a QP; STATE init, rtr, rts.
 *					Not those that differ from one connection to the next.
 *
 *	data				"ok RESOURCES DEPTH LENGTH [DATA]." of the last event
 *	bytes				"ok [HEX]": its private data without zeros at the end
 *	netns PATH			the process moves to another network namespace
 *
 * An address may have a scope (%DEVICE) and a flow label (/LABEL) behind it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "../cm_program.h"

#define MAX_IDS 4096

static struct rdma_event_channel *channel;
static struct rdma_cm_id *ids[MAX_IDS];
static unsigned int count;
static struct rdma_conn_param last;
static char last_data[256];

static void say_result(int ret)
{
	printf("%s\n", ret ? error_name(errno) : "ok");
}

static struct rdma_cm_id *id_of(const char *number)
{
	unsigned int n = number ? atoi(number) : MAX_IDS;

	if (n >= MAX_IDS || n >= count || !ids[n]) {
		fprintf(stderr, "agent: no id '%s'\n", number ? number : "");
		exit(2);
	}
	return ids[n];
}

static int number_of(struct rdma_cm_id *id)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (ids[i] == id)
			return (int)i;
	if (count == MAX_IDS) {
		fprintf(stderr, "agent: too many ids\n");
		exit(2);
	}
	ids[count] = id;
	return (int)count++;
}

/* An address with its optional suffixes; NULL for "-". */
static struct sockaddr *take_address(struct sockaddr_storage *out, char *text, const char *port)
{
	struct sockaddr_in6 *in6 = (void *)out;
	char *label, *scope;

	if (!strcmp(text, "-"))
		return NULL;
	label = strchr(text, '/');
	if (label)
		*label++ = 0;
	scope = strchr(text, '%');
	if (scope)
		*scope++ = 0;
	*out = get_address(text, atoi(port));
	if (out->ss_family == AF_INET6 && scope)
		in6->sin6_scope_id = if_nametoindex(scope);
	if (out->ss_family == AF_INET6 && label)
		in6->sin6_flowinfo = htonl(strtoul(label, NULL, 0));
	return (struct sockaddr *)out;
}

static void say_address(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char text[64] = "-", name[IF_NAMESIZE];

	if (addr->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		printf(" %s:%u", text, ntohs(in->sin_port));
	} else if (addr->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
		if (in6->sin6_scope_id && if_indextoname(in6->sin6_scope_id, name))
			printf(" %s%%%s:%u", text, name, ntohs(in6->sin6_port));
		else
			printf(" %s:%u", text, ntohs(in6->sin6_port));
	} else {
		printf(" -");
	}
}

static void do_id(const char *ps)
{
	enum rdma_port_space space = !ps || !strcmp(ps, "tcp") ? RDMA_PS_TCP :
				     !strcmp(ps, "udp") ? RDMA_PS_UDP : RDMA_PS_IB;
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, space))
		say_result(-1);
	else
		printf("ok %d\n", number_of(id));
}

static void do_event(int ms)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&pollfd, 1, ms) <= 0) {
		printf("none\n");
		return;
	}
	if (rdma_get_cm_event(channel, &event)) {
		say_result(-1);
		return;
	}
	printf("ok %s %d", rdma_event_str(event->event), event->status);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		printf(" %d", number_of(event->listen_id));
	printf(" %d\n", number_of(event->id));
	last = event->param.conn;
	memset(last_data, 0, sizeof(last_data));
	if (last.private_data)
		memcpy(last_data, last.private_data, last.private_data_len);
	rdma_ack_cm_event(event);
}

/* A space or a zero ends the printed data: other fabrics pad with zeros. */
static void do_data(void)
{
	last_data[strcspn(last_data, "\n ")] = 0;
	printf("ok %u %u %u %s.\n", last.responder_resources, last.initiator_depth,
	       last.private_data_len, last_data);
}

static void do_bytes(void)
{
	size_t len = sizeof(last_data);

	while (len && !last_data[len - 1])
		len--;
	printf("ok ");
	for (size_t i = 0; i < len; i++)
		printf("%02x", (unsigned char)last_data[i]);
	printf("\n");
}

static void do_bindgid(struct rdma_cm_id *id, const char *gid, const char *service_id)
{
	struct sockaddr_ib sib = {
		.sib_family = AF_IB, .sib_pkey = 0xffff,
		.sib_sid = htobe64(strtoull(service_id, NULL, 0)),
		.sib_sid_mask = strtoull(service_id, NULL, 0) ? UINT64_MAX : 0,
	};

	inet_pton(AF_INET6, gid, &sib.sib_addr);
	say_result(rdma_bind_addr(id, (struct sockaddr *)&sib));
}

/* <rdma/rdma_cma.h> may be older. */
static const struct rdma_addrinfo by_administrator = { .ai_flags = 0x10 };

static void do_service(struct rdma_cm_id *id, const char *service)
{
	int (*resolve)(struct rdma_cm_id *id, const char *node, const char *service,
		       const struct rdma_addrinfo *hints) =
		dlsym(RTLD_DEFAULT, "rdma_resolve_addrinfo");

	if (resolve)
		say_result(resolve(id, NULL, service, &by_administrator));
	else
		printf("missing\n");
}

static void say_gid(const struct sockaddr_ib *sib)
{
	char gid[64];

	inet_ntop(AF_INET6, &sib->sib_addr, gid, sizeof(gid));
	printf("%s", gid);
}

static void say_services(struct rdma_addrinfo *list)
{
	const struct rdma_addrinfo *info;
	const struct sockaddr_ib *sib;

	printf("ok");
	for (info = list; info; info = info->ai_next) {
		sib = (const void *)info->ai_dst_addr;
		printf(" ");
		say_gid(sib);
		printf("/%#llx/%#x", (unsigned long long)be64toh(sib->sib_sid),
		       be16toh(sib->sib_pkey));
	}
	if (list->ai_src_addr) {
		printf(" from ");
		say_gid((const void *)list->ai_src_addr);
	}
	printf("\n");
	rdma_freeaddrinfo(list);
}

static void do_services(struct rdma_cm_id *id)
{
	int (*query)(struct rdma_cm_id *id, struct rdma_addrinfo **res) =
		dlsym(RTLD_DEFAULT, "rdma_query_addrinfo");
	struct rdma_addrinfo *list;

	if (!query)
		printf("missing\n");
	else if (query(id, &list))
		say_result(-1);
	else
		say_services(list);
}

static void do_lookup(const char *service)
{
	struct rdma_addrinfo *list;

	if (rdma_getaddrinfo(NULL, service, &by_administrator, &list))
		say_result(-1);
	else
		say_services(list);
}

static void do_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	say_result(rdma_create_qp(id, NULL, &attr));
}

static void do_netns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	say_result(fd < 0 ? -1 : setns(fd, CLONE_NEWNET));
	if (fd >= 0)
		close(fd);
}

static void do_place(struct rdma_cm_id *id)
{
	printf("ok %s %u", id->verbs ? ibv_get_device_name(id->verbs->device) : "-",
	       id->port_num);
	say_address(rdma_get_local_addr(id));
	say_address(rdma_get_peer_addr(id));
	printf("\n");
}

static void do_path(struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;

	if (!id->route.num_paths || !path) {
		printf("none\n");
		return;
	}
	printf("ok hop=%u tos=%u sl=%u flow=%u mtu=%u pkey=%u lifetime=%u\n", path->hop_limit,
	       path->traffic_class, path->sl, ntohl(path->flow_label) & 0xfffff, path->mtu,
	       ntohs(path->pkey), path->packet_life_time);
}

/* A path record as on the wire (IBTA volume 1, 15.2.5.16); its selectors are "exactly". */
static void do_given(struct rdma_cm_id *id, const struct rdma_cm_id *from, const char *source)
{
	const struct ibv_sa_path_rec *path = from->route.path_rec;
	struct ibv_path_data data = {
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		.path = {
			.dgid = path->dgid,
			.sgid = path->sgid,
			.dlid = path->dlid,
			.slid = path->slid,
			.flowlabel_hoplimit = htonl(ntohl(path->flow_label) << 8 |
						    path->hop_limit),
			.tclass = path->traffic_class,
			.reversible_numpath = 0x80 | 1,
			.pkey = path->pkey,
			.qosclass_sl = htons(path->sl),
			.mtu = 0x80 | path->mtu,
			.rate = 0x80 | path->rate,
			.packetlifetime = 0x80 | path->packet_life_time,
		},
	};

	if (source)
		inet_pton(AF_INET6, source, data.path.sgid.raw);
	say_result(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &data, sizeof(data)));
}

static void say_ah(const struct ibv_ah_attr *ah)
{
	char dgid[64];

	inet_ntop(AF_INET6, ah->grh.dgid.raw, dgid, sizeof(dgid));
	printf(" global=%u dgid=%s sgid=%u flow=%u hop=%u tos=%u dlid=%u sl=%u bits=%u rate=%u"
	       " port=%u", ah->is_global, dgid, ah->grh.sgid_index, ah->grh.flow_label,
	       ah->grh.hop_limit, ah->grh.traffic_class, ah->dlid, ah->sl, ah->src_path_bits,
	       ah->static_rate, ah->port_num);
}

static void do_attr(struct rdma_cm_id *id, const char *state)
{
	struct ibv_qp_attr attr = {
		.qp_state = !strcmp(state, "init") ? IBV_QPS_INIT :
			    !strcmp(state, "rtr") ? IBV_QPS_RTR : IBV_QPS_RTS,
	};
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask)) {
		say_result(-1);
		return;
	}
	printf("ok mask=%#x access=%#x pkey=%u port=%u mtu=%u max_dest=%u rnr_timer=%u max=%u"
	       " timeout=%u retry=%u rnr=%u", mask, attr.qp_access_flags, attr.pkey_index,
	       attr.port_num, attr.path_mtu, attr.max_dest_rd_atomic, attr.min_rnr_timer,
	       attr.max_rd_atomic, attr.timeout, attr.retry_cnt, attr.rnr_retry);
	say_ah(&attr.ah_attr);
	printf(" known=%u\n", !!attr.dest_qp_num + 2 * !!attr.sq_psn + 4 * !!attr.rq_psn);
}

/* Private data of a command, which may be NULL; returns its length. */
static size_t take_data(const char **data)
{
	static char bytes[sizeof(last_data)];
	size_t len = 0;

	if (!*data || strncmp(*data, "0x", 2))
		return *data ? strlen(*data) : 0;
	for (const char *hex = *data + 2; len < sizeof(bytes); hex += 2)
		if (sscanf(hex, "%2hhx", &bytes[len]) == 1)
			len++;
		else
			break;
	*data = bytes;
	return len;
}

static void do_connection(const char *what, struct rdma_cm_id *id, const char *data)
{
	size_t len = take_data(&data);
	struct rdma_conn_param param = conn_param(data);

	param.private_data_len = len;
	if (!strcmp(what, "connect"))
		say_result(rdma_connect(id, &param));
	else if (!strcmp(what, "accept"))
		say_result(rdma_accept(id, &param));
	else if (!strcmp(what, "reject"))
		say_result(rdma_reject(id, data, len));
	else if (!strcmp(what, "notify"))
		say_result(rdma_notify(id, IBV_EVENT_COMM_EST));
	else if (!strcmp(what, "establish"))
		say_result(rdma_establish(id));
	else
		say_result(rdma_disconnect(id));
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void do_destroy(const char *number, bool keep_qp)
{
	struct rdma_cm_id *id = id_of(number);
	long long began;

	if (id->qp && !keep_qp)
		rdma_destroy_qp(id);
	began = now_us();
	ids[atoi(number)] = NULL;
	if (rdma_destroy_id(id))
		say_result(-1);
	else
		printf("ok %lld\n", now_us() - began);
}

/* The errno that a connect ends with. */
static void *connect_thread(void *id)
{
	struct rdma_conn_param param = conn_param(NULL);

	return (void *)(intptr_t)(rdma_connect(id, &param) ? errno : 0);
}

static void do_abort(const char *number, int ms)
{
	struct rdma_cm_id *id = id_of(number);
	long long began, took;
	pthread_t thread;
	void *error;
	int ret;

	if (pthread_create(&thread, NULL, connect_thread, id)) {
		printf("EAGAIN\n");
		return;
	}
	usleep(ms * 1000);
	began = now_us();
	ids[atoi(number)] = NULL;
	ret = rdma_destroy_id(id);
	took = now_us() - began;
	pthread_join(thread, &error);
	if (ret)
		say_result(ret);
	else
		printf("ok %s %lld\n", error ? error_name((intptr_t)error) : "0", took);
}

/* A command on an id: word[1] is its number. */
static void do_with_id(char **word)
{
	struct rdma_cm_id *id = id_of(word[1]);
	struct sockaddr_storage src, dst;
	struct sockaddr *from;
	uint8_t value;

	if (!strcmp(word[0], "qp")) {
		do_qp(id);
	} else if (!strcmp(word[0], "option")) {
		value = (uint8_t)atoi(word[4]);
		say_result(rdma_set_option(id, strtol(word[2], NULL, 0), atoi(word[3]), &value, 1));
	} else if (!strcmp(word[0], "bind")) {
		say_result(rdma_bind_addr(id, take_address(&src, word[2], word[3])));
	} else if (!strcmp(word[0], "bindgid")) {
		do_bindgid(id, word[2], word[3]);
	} else if (!strcmp(word[0], "service")) {
		do_service(id, word[2]);
	} else if (!strcmp(word[0], "services")) {
		do_services(id);
	} else if (!strcmp(word[0], "resolve")) {
		from = take_address(&src, word[2], "0");
		say_result(rdma_resolve_addr(id, from, take_address(&dst, word[3], word[4]), 2000));
	} else if (!strcmp(word[0], "route")) {
		say_result(rdma_resolve_route(id, 2000));
	} else if (!strcmp(word[0], "listen")) {
		say_result(rdma_listen(id, word[2] ? atoi(word[2]) : 0));
	} else if (!strcmp(word[0], "place")) {
		do_place(id);
	} else if (!strcmp(word[0], "path")) {
		do_path(id);
	} else if (!strcmp(word[0], "given")) {
		do_given(id, id_of(word[2]), word[3]);
	} else if (!strcmp(word[0], "attr")) {
		do_attr(id, word[2]);
	} else if (!strcmp(word[0], "destroy")) {
		do_destroy(word[1], word[2]);
	} else if (!strcmp(word[0], "abort")) {
		do_abort(word[1], atoi(word[2]));
	} else if (!strcmp(word[0], "join")) {
		say_result(rdma_join_multicast(id, take_address(&dst, word[2], "0"), NULL));
	} else {
		do_connection(word[0], id, word[2]);
	}
}

static void do_line(char *line)
{
	char *word[6] = { NULL }, *at = NULL;
	int i;

	for (i = 0; i < 6; i++)
		word[i] = strtok_r(i ? NULL : line, "\n ", &at);
	if (!strcmp(word[0], "id"))
		do_id(word[1]);
	else if (!strcmp(word[0], "event"))
		do_event(atoi(word[1]));
	else if (!strcmp(word[0], "data"))
		do_data();
	else if (!strcmp(word[0], "bytes"))
		do_bytes();
	else if (!strcmp(word[0], "lookup"))
		do_lookup(word[1]);
	else if (!strcmp(word[0], "netns"))
		do_netns(word[1]);
	else
		do_with_id(word);
}

static void ignore(int number)
{
	(void)number;
}

int main(void)
{
	struct sigaction action = { .sa_handler = ignore };	/* calls are not restarted */
	char line[1024];

	sigaction(SIGUSR1, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	channel = rdma_create_event_channel();
	if (!channel) {
		say_result(-1);
		return 1;
	}
	printf("ok\n");
	while (fgets(line, sizeof(line), stdin))
		do_line(line);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Many commands in one call, each with its own result. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "rca_test.h"

#define PAGE 4096
#define LONG (8u << 20)
#define MANY 64
#define NO_ID 0x7fffffff
#define UNTOUCHED 77

static int batch(int ctx, uint32_t cmd, void *entries, uint32_t stride, uint32_t count,
		 int32_t *results, uint32_t *done)
{
	struct rdma_cm_alt_batch call = {
		.size = sizeof(call),
		.cmd = cmd,
		.count = count,
		.stride = stride,
		.entries_uptr = (uintptr_t)entries,
		.results_uptr = (uintptr_t)results,
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_BATCH, &call);

	if (done)
		*done = call.out_done;
	return ret;
}

static struct rdma_cm_alt_destroy destroy_cmd(uint32_t id)
{
	return (struct rdma_cm_alt_destroy) {
		.size = sizeof(struct rdma_cm_alt_destroy),
		.id = id,
	};
}

static int destroy_all(int ctx, struct rdma_cm_alt_destroy *cmds, uint32_t count, int32_t *results,
		       uint32_t *done)
{
	return batch(ctx, RDMA_CM_ALT_CMD_DESTROY, cmds, sizeof(*cmds), count, results, done);
}

/* A connect to @ip with all steps before it. */
static struct rdma_cm_alt_connect connect_cmd(int queue, const char *ip, uint16_t port,
					      uint64_t cookie)
{
	return (struct rdma_cm_alt_connect) {
		.size = sizeof(struct rdma_cm_alt_connect),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_ADDR |
				 RDMA_CM_ALT_STEP_ROUTE,
			.queue_fd = queue,
			.timeout_ms = 2000,
			.cookie = cookie,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
			.dst = make_addr(ip, port),
		},
		.param.qp_num = fresh_qp_num(),
		.param.retry_count = 7,
	};
}

TEST(all_are_executed)
{
	struct rdma_cm_alt_destroy cmds[MANY];
	int ctx = get_ctx(), queue = get_queue(ctx);
	int32_t results[MANY];
	uint32_t done;

	for (int i = 0; i < MANY; i++)
		cmds[i] = destroy_cmd(get_id(ctx, queue, i));
	memset(results, UNTOUCHED, sizeof(results));
	EXPECT_EQ(destroy_all(ctx, cmds, MANY, results, &done), 0);
	EXPECT_EQ(done, MANY);
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(results[i], 0);
	EXPECT_EQ(destroy_all(ctx, cmds, MANY, results, &done), 0);
	EXPECT_EQ(done, MANY);
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(results[i], -ENOENT);
}

TEST(each_entry_gets_its_answer)
{
	struct rdma_cm_alt_destroy cmds[2];
	int ctx = get_ctx(), queue = get_queue(ctx);
	int32_t results[2];

	for (int i = 0; i < 2; i++) {
		cmds[i] = destroy_cmd(get_loaded(ctx, queue, i));
		for (int n = 0; n < i; n++) {
			post(ctx, cmds[i].id);
			EXPECT_EVENT(queue, ROUTE_RESOLVED, cmds[i].id);
		}
	}
	EXPECT_EQ(destroy_all(ctx, cmds, 2, results, NULL), 0);
	EXPECT_EQ(cmds[0].out_events_reported, 1);
	EXPECT_EQ(cmds[1].out_events_reported, 2);
}

TEST(failing_entries_change_nothing_for_the_others)
{
	struct rdma_cm_alt_destroy cmds[8];
	int ctx = get_ctx(), queue = get_queue(ctx);
	int32_t results[8];

	for (int i = 0; i < 8; i++)
		cmds[i] = destroy_cmd(get_id(ctx, queue, i));
	cmds[1].id = NO_ID;
	cmds[3].flags = 1;
	cmds[4].size = 4;
	cmds[6].id = cmds[5].id;
	EXPECT_EQ(destroy_all(ctx, cmds, 8, results, NULL), 0);
	EXPECT_EQ(results[0], 0);
	EXPECT_EQ(results[1], -ENOENT);
	EXPECT_EQ(results[2], 0);
	EXPECT_EQ(results[3], -EOPNOTSUPP);
	EXPECT_EQ(results[4], -EINVAL);
	EXPECT_EQ(results[5], 0);
	EXPECT_EQ(results[6], -ENOENT);
	EXPECT_EQ(results[7], 0);
	EXPECT_EQ(rca_destroy(ctx, cmds[3].id), 0);
}

TEST(no_entries_are_done_at_once)
{
	uint32_t done = UNTOUCHED;

	EXPECT_EQ(destroy_all(get_ctx(), NULL, 0, NULL, &done), 0);
	EXPECT_EQ(done, 0);
}

TEST(commands_that_wait_or_are_no_ids_are_einval)
{
	static const uint32_t refused[] = {
		RDMA_CM_ALT_CMD_INFO, RDMA_CM_ALT_CMD_QUEUE_CREATE, RDMA_CM_ALT_CMD_GET_EVENT,
		RDMA_CM_ALT_CMD_BATCH, RDMA_CM_ALT_CMD_USAGE, RDMA_CM_ALT_CMD_END, 0, UINT32_MAX,
		/* An ioctl request in place of a command's number. */
		RDMA_CM_ALT_DESTROY,
	};
	struct rdma_cm_alt_batch entry = { .size = sizeof(entry) };
	int32_t result = UNTOUCHED;
	int ctx = get_ctx();

	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		EXPECT_EQ(batch(ctx, refused[i], &entry, PAGE, 1, &result, NULL), -EINVAL);
	EXPECT_EQ(result, UNTOUCHED);
}

TEST(stride_may_be_larger_and_not_smaller)
{
	struct { struct rdma_cm_alt_destroy cmd; uint8_t own[40]; } cmds[2];
	const uint32_t least = offsetof(struct rdma_cm_alt_destroy, id) + sizeof(uint32_t);
	int ctx = get_ctx(), queue = get_queue(ctx);
	int32_t results[2];

	for (int i = 0; i < 2; i++)
		cmds[i].cmd = destroy_cmd(get_id(ctx, queue, i));
	EXPECT_EQ(batch(ctx, RDMA_CM_ALT_CMD_DESTROY, cmds, least - 1, 2, results, NULL), -EINVAL);
	EXPECT_EQ(batch(ctx, RDMA_CM_ALT_CMD_DESTROY, cmds, sizeof(cmds[0]), 2, results, NULL), 0);
	EXPECT_EQ(results[0], 0);
	EXPECT_EQ(results[1], 0);
}

/* Two pages; the second one is not mapped. */
static uint8_t *half(void)
{
	uint8_t *page = MUST(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	MUST(munmap(page + PAGE, PAGE));
	return page;
}

TEST(entry_that_cannot_be_read_is_efault_by_itself)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_destroy *cmds = (void *)(half() + PAGE - 2 * sizeof(*cmds));
	int32_t results[3];

	for (int i = 0; i < 2; i++)
		cmds[i] = destroy_cmd(get_id(ctx, queue, i));
	EXPECT_EQ(destroy_all(ctx, cmds, 3, results, NULL), 0);
	EXPECT_EQ(results[0], 0);
	EXPECT_EQ(results[1], 0);
	EXPECT_EQ(results[2], -EFAULT);
}

TEST(result_that_cannot_be_written_ends_the_batch)
{
	int32_t *results = (void *)(half() + PAGE - 2 * sizeof(*results));
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct rdma_cm_alt_destroy cmds[4];
	uint32_t done;

	for (int i = 0; i < 4; i++)
		cmds[i] = destroy_cmd(get_id(ctx, queue, i));
	EXPECT_EQ(destroy_all(ctx, cmds, 4, results, &done), -EFAULT);
	EXPECT_EQ(done, 2);
	EXPECT_EQ(results[1], 0);
	EXPECT_EQ(rca_destroy(ctx, cmds[0].id), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, cmds[1].id), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, cmds[2].id), 0);
	EXPECT_EQ(rca_destroy(ctx, cmds[3].id), 0);
}

TEST(many_connect_and_some_fail)
{
	bool answered[MANY] = {};
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_connect cmds[MANY];
	int32_t results[MANY];
	event_t ev;
	int i;

	for (i = 0; i < MANY; i++)
		cmds[i] = connect_cmd(p.cq, HERE, p.port, i);
	cmds[3].pipe.ps = 1;
	cmds[4].pipe.queue_fd = 9999;
	cmds[5].pipe.src = make_addr(NOT_OURS, 0);
	EXPECT_EQ(batch(p.ctx, RDMA_CM_ALT_CMD_CONNECT, cmds, sizeof(cmds[0]), MANY, results, NULL),
		  0);
	for (i = 0; i < MANY; i++) {
		static const int wanted[] = { -EINVAL, -EBADF, -EADDRNOTAVAIL };

		EXPECT_EQ(results[i], i >= 3 && i <= 5 ? wanted[i - 3] : 0);
	}
	for (i = 0; i < MANY - 3; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	}
	for (i = 0; i < MANY - 3; i++) {
		EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
		EXPECT(ev.cookie < MANY && !results[ev.cookie] && !answered[ev.cookie]);
		EXPECT_EQ(ev.id, cmds[ev.cookie].out_id);
		answered[ev.cookie] = true;
	}
	expect_no_events(&p);
}

TEST(connections_are_established_and_ended_in_batches)
{
	struct pair p = get_listening(HERE);
	struct rdma_cm_alt_establish establish[8];
	struct rdma_cm_alt_connect connect[8];
	struct rdma_cm_alt_accept accept[8];
	struct rdma_cm_alt_destroy cmds[8];
	int32_t results[8];
	event_t ev;
	int i;

	for (i = 0; i < 8; i++)
		connect[i] = connect_cmd(p.cq, HERE, p.port, i);
	EXPECT_EQ(batch(p.ctx, RDMA_CM_ALT_CMD_CONNECT, connect, sizeof(connect[0]), 8, results,
			NULL), 0);
	memset(accept, 0, sizeof(accept));
	for (i = 0; i < 8; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		accept[i].size = sizeof(accept[i]);
		accept[i].flags = RDMA_CM_ALT_ACCEPT_QUIET;
		accept[i].id = ev.id;
		accept[i].cookie = SERVER + i;
		accept[i].param.qp_num = fresh_qp_num();
	}
	EXPECT_EQ(batch(p.ctx, RDMA_CM_ALT_CMD_ACCEPT, accept, sizeof(accept[0]), 8, results, NULL),
		  0);
	memset(establish, 0, sizeof(establish));
	for (i = 0; i < 8; i++) {
		EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
		establish[i].size = sizeof(establish[i]);
		establish[i].id = ev.id;
		cmds[i] = destroy_cmd(ev.id);
	}
	EXPECT_EQ(batch(p.ctx, RDMA_CM_ALT_CMD_ESTABLISH, establish, sizeof(establish[0]), 8,
			results, NULL), 0);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(results[i], 0);
	EXPECT_EQ(destroy_all(p.ctx, cmds, 8, results, NULL), 0);
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(results[i], 0);
		/* There is no ESTABLISHED before it. */
		EXPECT_EVENT_STATUS(p.lq, DISCONNECTED, 0, 0, &ev);
	}
}

/* Entries that fail, as their size is 0; they take seconds. */
static struct rdma_cm_alt_batch long_batch(void)
{
	const size_t stride = sizeof(struct rdma_cm_alt_destroy);
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	return (struct rdma_cm_alt_batch) {
		.size = sizeof(struct rdma_cm_alt_batch),
		.cmd = RDMA_CM_ALT_CMD_DESTROY,
		.count = LONG,
		.stride = stride,
		/* Only read, so each page is the zero page. */
		.entries_uptr = (uintptr_t)MUST(mmap(NULL, LONG * stride, PROT_READ, anonymous,
						     -1, 0)),
		.results_uptr = (uintptr_t)MUST(mmap(NULL, LONG * sizeof(int32_t),
						     PROT_READ | PROT_WRITE, anonymous, -1, 0)),
	};
}

static atomic_int alarms;

static void count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

TEST(signal_ends_a_batch_early_behind_its_entry)
{
	const struct itimerval every = { { .tv_usec = 100000 }, { .tv_usec = 100000 } };
	struct sigaction action = { .sa_handler = count_alarm, .sa_flags = SA_RESTART };
	struct rdma_cm_alt_batch call = long_batch();
	const int32_t *results = (void *)(uintptr_t)call.results_uptr;
	int ctx = get_ctx();

	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(setitimer(ITIMER_REAL, &every, NULL));
	for (int i = 1; i <= 5; i++) {
		int before = alarms;

		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_BATCH, &call), 0);
		EXPECT(call.out_done > 0 && call.out_done < call.count);
		EXPECT(alarms > before);
		EXPECT_EQ(results[call.out_done - 1], -EINVAL);
		EXPECT_EQ(results[call.out_done], 0);	/* not tried */
		/* Continue. */
		call.count -= call.out_done;
		call.entries_uptr += (uint64_t)call.out_done * call.stride;
		call.results_uptr += (uint64_t)call.out_done * sizeof(*results);
		results += call.out_done;
	}
	MUST(setitimer(ITIMER_REAL, &(struct itimerval) {}, NULL));
}

TEST(process_in_a_batch_can_be_stopped_and_continued)
{
	struct rdma_cm_alt_batch call = long_batch();
	pid_t pid = MUST(fork());
	double begin;
	int status;

	if (!pid) {
		int ctx = get_ctx();

		for (;;)
			rca_call(ctx, RDMA_CM_ALT_BATCH, &call);
	}
	for (int i = 0; i < 3; i++) {
		usleep(200000);
		begin = ktap_now();
		MUST(kill(pid, SIGSTOP));
		EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
		EXPECT(WIFSTOPPED(status));
		EXPECT(ktap_now() - begin < 0.5);
		MUST(kill(pid, SIGCONT));
	}
	MUST(kill(pid, SIGKILL));
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

KTAP_MAIN

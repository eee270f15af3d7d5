// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the output of RDMA_CM_ALT_DEBUG: failing calls, events of failures, reasons as text. */
#include <netdb.h>
#include <pthread.h>
#include <rdma/rdma_cma_alt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/fixture.h"
#include "base/log.h"
#include "base/reason.h"

static char told[8192];

/* Redirect stderr to a file, until told_since() has read it. */
static FILE *listen_in(int *kept)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fflush(stderr);
	*kept = dup(STDERR_FILENO);
	assert_true(*kept >= 0);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	return file;
}

static const char *told_since(FILE *file, int kept)
{
	size_t n;

	fflush(stderr);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	close(kept);
	rewind(file);
	n = fread(told, 1, sizeof(told) - 1, file);
	told[n] = 0;
	fclose(file);
	return told;
}

static void assert_told(const char *wanted)
{
	if (!strstr(told, wanted))
		fail_msg("not told: %s\ntold: %s", wanted, told);
}

/* The output for an event of an id. */
static const char *told_of_event(struct rdma_cm_id *id, __u32 type, int status)
{
	struct rdma_cm_event *event;
	FILE *file;
	int kept;

	fake_post_type(type, handle_of(id), status);
	file = listen_in(&kept);
	assert_int_equal(rdma_get_cm_event(id->channel, &event), 0);
	told_since(file, kept);
	assert_int_equal(event->status, status);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	return told;
}

/* Whether a child process with this environment prints anything. */
static bool tells_with(const char *value)
{
	FILE *file;
	int kept, status;
	pid_t pid;

	file = listen_in(&kept);
	pid = fork();
	if (!pid) {
		if (value)
			setenv("RDMA_CM_ALT_DEBUG", value, 1);
		else
			unsetenv("RDMA_CM_ALT_DEBUG");
		rdma_ack_cm_event(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return *told_since(file, kept);
}

/* This test is the first: a process reads its environment once. */
TEST(log_is_off_unless_asked_for)
{
	assert_false(tells_with(NULL));
	assert_false(tells_with(""));
	assert_false(tells_with("0"));
	assert_true(tells_with("1"));
	setenv("RDMA_CM_ALT_DEBUG", "1", 1);
}

TEST(each_reject_reason_has_words_of_its_own)
{
	const char *unknown = rcl_reject_text(0);
	int i, j;

	for (i = 1; i <= 35; i++) {
		if (i == 34)
			continue;
		assert_string_not_equal(rcl_reject_text(i), unknown);
		for (j = 1; j < i; j++)
			if (j != 34)
				assert_string_not_equal(rcl_reject_text(i), rcl_reject_text(j));
	}
}

TEST(unknown_reasons_say_so)
{
	static const int numbers[] = { 0, -1, 34, 36, 65535, INT32_MAX, INT32_MIN };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_non_null(strstr(rcl_reject_text(numbers[i]), "does not name"));
	assert_non_null(strstr(rcl_sidr_text(0), "does not name"));
	assert_non_null(strstr(rcl_sidr_text(6), "does not name"));
}

TEST(rejected_event_tells_reason_and_advice)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	told_of_event(id, RDMA_CM_ALT_EVENT_REJECTED, 8);
	assert_told("RDMA_CM_EVENT_REJECTED, status 8: nobody listens there");
	assert_told("is the server running");
	assert_told("id 1 (asynchronous");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(event_with_errno_tells_its_words)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	char wanted[200];

	told_of_event(id, RDMA_CM_ALT_EVENT_ADDR_ERROR, -ETIMEDOUT);
	snprintf(wanted, sizeof(wanted), "RDMA_CM_EVENT_ADDR_ERROR, status -110: %s; the peer's",
		 strerror(ETIMEDOUT));
	assert_told(wanted);
	told_of_event(id, RDMA_CM_ALT_EVENT_ROUTE_ERROR, -EINVAL);
	assert_told("RDMA_CM_EVENT_ROUTE_ERROR, status -22: Invalid argument; is the port");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(each_failure_has_its_advice)
{
	static const struct {
		__u32 type;
		int status;
		const char *told;
	} rows[] = {
		{ RDMA_CM_ALT_EVENT_UNREACHABLE, -ETIMEDOUT, "is the host up" },
		{ RDMA_CM_ALT_EVENT_REJECTED, 3, "no resources left; look at the limits" },
		{ RDMA_CM_ALT_EVENT_REJECTED, 28, "has refused; its private data" },
		{ RDMA_CM_ALT_EVENT_REJECTED, 34, "does not name\n" },
		/* iWARP */
		{ RDMA_CM_ALT_EVENT_REJECTED, -ECONNREFUSED, "refused; is the server running" },
		{ RDMA_CM_ALT_EVENT_REJECTED, -ECONNRESET, "has closed the TCP connection" },
		{ RDMA_CM_ALT_EVENT_CONNECT_ERROR, -ENODEV, "over another device" },
		{ RDMA_CM_ALT_EVENT_CONNECT_ERROR, INT32_MIN, "a status that cannot be\n" },
		{ RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0, "the device goes away; destroy" },
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		told_of_event(id, rows[i].type, rows[i].status);
		assert_told(rows[i].told);
	}
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(sidr_status_of_datagram_id_is_told)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_ud_id(ch);

	told_of_event(id, RDMA_CM_ALT_EVENT_UNREACHABLE, 3);
	assert_told("status 3: the peer has no queue pair for this");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(events_of_success_tell_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_string_equal(told_of_event(id, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0), "");
	assert_string_equal(told_of_event(id, RDMA_CM_ALT_EVENT_ADDR_CHANGE, 0), "");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(failing_call_tells_its_id_and_errno)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	FILE *file;
	int kept;

	file = listen_in(&kept);
	assert_fails(EINVAL, rdma_resolve_route(id, 100));
	told_since(file, kept);
	assert_told("rdma_resolve_route: id 1 (asynchronous, device none");
	assert_told(": Invalid argument\n");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(failing_call_tells_the_address_and_what_to_look_at)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	FILE *file;
	int kept;

	fake.fail[RDMA_CM_ALT_CMD_RESOLVE - RDMA_CM_ALT_CMD_BASE] = EADDRNOTAVAIL;
	file = listen_in(&kept);
	assert_fails(EADDRNOTAVAIL, rdma_bind_addr(id, addr4("192.0.2.1", 7471)));
	told_since(file, kept);
	assert_told("192.0.2.1:7471 is not bound; no device in this namespace has it");
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(each_failure_of_many_is_told)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_alt_connect_attr attrs[3] = { 0 };
	struct rdma_cm_id *ids[3];
	FILE *file;
	int i, kept;

	for (i = 0; i < 3; i++) {
		attrs[i].channel = i ? ch : NULL;
		attrs[i].dst_addr = addr4("10.9.0.2", (uint16_t)(7000 + i));
		attrs[i].timeout_ms = 1000;
	}
	fake.fail[FAKE(CONNECT)] = EADDRNOTAVAIL;
	file = listen_in(&kept);
	assert_int_equal(rdma_alt_connect_many(attrs, 3, ids, NULL), 1);
	told_since(file, kept);
	assert_told("rdma_alt_connect_many: peer 10.9.0.2:7000: not started; it needs a channel");
	assert_told("rdma_alt_connect_many: peer 10.9.0.2:7001: not started; no device");
	assert_null(strstr(told, ":7002"));
	take_and_ack(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
	ids[0] = new_id(ch);
	fake.fail[FAKE(DESTROY)] = EINVAL;
	file = listen_in(&kept);
	assert_int_equal(rdma_alt_destroy_many(ids, 3, NULL), 1);
	told_since(file, kept);
	assert_told("rdma_alt_destroy_many: number 0 of 3 is not destroyed: Invalid argument\n");
	assert_int_equal(rdma_destroy_id(ids[0]), 0);
	rdma_destroy_event_channel(ch);
}

TEST(a_name_that_cannot_be_is_told)
{
	struct rdma_addrinfo *res;
	FILE *file;
	int kept, ret;

	file = listen_in(&kept);
	ret = rdma_getaddrinfo("10.9.0.1", "no such service", NULL, &res);
	told_since(file, kept);
	assert_int_not_equal(ret, 0);
	assert_int_not_equal(ret, -1);
	assert_told("rdma_getaddrinfo: node 10.9.0.1, service no such service: ");
	assert_told(gai_strerror(ret));
}

static void *tells_when_cancelled(void *goes_on)
{
	pthread_cancel(pthread_self());
	rcl_log("told by a thread that is cancelled");
	*(bool *)goes_on = true;
	return NULL;
}

/* The caller may hold a lock. */
TEST(telling_is_no_place_to_be_cancelled_in)
{
	bool goes_on = false;
	pthread_t thread;
	FILE *file;
	int kept;

	file = listen_in(&kept);
	assert_int_equal(pthread_create(&thread, NULL, tells_when_cancelled, &goes_on), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	told_since(file, kept);
	assert_told("rdma_cm_alt: told by a thread that is cancelled\n");
	assert_true(goes_on);
}

RUN

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Size, tail, flags, reserved members and bad pointers of every ioctl. Each ioctl is a row. */
#include "rca_test.h"

#define PAGE 4096
#define NO_ID 0x7fffffff
#define CANARY 0x5a

struct span {
	size_t offset;
	size_t len;
};

/* An ioctl, and a call that passes these checks and changes nothing. */
struct row {
	const char *name;
	unsigned long cmd;
	size_t size;
	size_t min;		/* end of the last mandatory member */
	uint32_t flags;		/* known flags */
	bool outputs;
	int harmless;		/* result of the call */
	size_t id;		/* offset of the handle; 0: there is none */
	struct span reserved[3];
};

#define END(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))
#define SPAN(type, member) { offsetof(struct type, member), sizeof(((struct type *)0)->member) }
#define ROW(NAME, type, last, result, ...) \
	{ #NAME, RDMA_CM_ALT_##NAME, sizeof(struct type), END(type, last), .harmless = result, \
	  ##__VA_ARGS__ }
#define ID(type, member) .id = offsetof(struct type, member)

static const struct row rows[] = {
	ROW(INFO, rdma_cm_alt_info, out_commands, 0, .outputs = true),
	ROW(QUEUE_CREATE, rdma_cm_alt_queue_create, out_fd, 0,
	    .outputs = true, .flags = RDMA_CM_ALT_QUEUE_NONBLOCK,
	    .reserved = { SPAN(rdma_cm_alt_queue_create, __reserved) }),
	ROW(RESOLVE, rdma_cm_alt_resolve, out_queue_fd, -EINVAL, .outputs = true,
	    .reserved = { SPAN(rdma_cm_alt_resolve, pipe.__reserved),
			  SPAN(rdma_cm_alt_resolve, __reserved) }),
	ROW(CONNECT, rdma_cm_alt_connect, out_queue_fd, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_connect, pipe.id),
	    .reserved = { SPAN(rdma_cm_alt_connect, pipe.__reserved),
			  SPAN(rdma_cm_alt_connect, param.__reserved),
			  SPAN(rdma_cm_alt_connect, param.__reserved2) }),
	ROW(LISTEN, rdma_cm_alt_listen, backlog, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_listen, id)),
	ROW(ACCEPT, rdma_cm_alt_accept, param, -ENOENT, ID(rdma_cm_alt_accept, id),
	    .flags = RDMA_CM_ALT_ACCEPT_QUIET,
	    .reserved = { SPAN(rdma_cm_alt_accept, __reserved),
			  SPAN(rdma_cm_alt_accept, param.__reserved),
			  SPAN(rdma_cm_alt_accept, param.__reserved2) }),
	ROW(REJECT, rdma_cm_alt_reject, private_data_len, -ENOENT, ID(rdma_cm_alt_reject, id),
	    .reserved = { SPAN(rdma_cm_alt_reject, __reserved) }),
	ROW(ESTABLISH, rdma_cm_alt_establish, id, -ENOENT, ID(rdma_cm_alt_establish, id),
	    .reserved = { SPAN(rdma_cm_alt_establish, __reserved) }),
	ROW(DISCONNECT, rdma_cm_alt_disconnect, id, -ENOENT, ID(rdma_cm_alt_disconnect, id),
	    .reserved = { SPAN(rdma_cm_alt_disconnect, __reserved) }),
	ROW(NOTIFY, rdma_cm_alt_notify, event, -ENOENT, ID(rdma_cm_alt_notify, id)),
	ROW(QP_ATTR, rdma_cm_alt_qp_attr_get, out_attr, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_qp_attr_get, id)),
	ROW(QUERY, rdma_cm_alt_query, out_route, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_query, id), .reserved = { SPAN(rdma_cm_alt_query, __reserved) }),
	ROW(SET_OPTION, rdma_cm_alt_option, optval_uptr, -ENOENT, ID(rdma_cm_alt_option, id)),
	ROW(GET_OPTION, rdma_cm_alt_option, optval_uptr, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_option, id)),
	ROW(SET_QUEUE, rdma_cm_alt_set_queue, out_queue_fd, -ENOENT, .outputs = true,
	    .flags = RDMA_CM_ALT_SET_QUEUE_NEW | RDMA_CM_ALT_SET_QUEUE_COOKIE,
	    ID(rdma_cm_alt_set_queue, id)),
	ROW(GET_EVENT, rdma_cm_alt_get_event, record_uptr, -EINVAL,
	    .flags = RDMA_CM_ALT_GET_EVENT_NONBLOCK, ID(rdma_cm_alt_get_event, id)),
	ROW(POST_EVENT, rdma_cm_alt_post_event, arg, -EINVAL, ID(rdma_cm_alt_post_event, id),
	    .reserved = { SPAN(rdma_cm_alt_post_event, __reserved) }),
	ROW(JOIN, rdma_cm_alt_join, out_member, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_join, id), .reserved = { SPAN(rdma_cm_alt_join, __reserved) }),
	ROW(LEAVE, rdma_cm_alt_leave, member, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_leave, member)),
	ROW(DESTROY, rdma_cm_alt_destroy, id, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_destroy, id)),
	ROW(BATCH, rdma_cm_alt_batch, results_uptr, -EINVAL, .outputs = true),
	ROW(USAGE, rdma_cm_alt_usage, out_user_refused, 0, .outputs = true,
	    .reserved = { SPAN(rdma_cm_alt_usage, __reserved) }),
	ROW(RESOLVE_SERVICE, rdma_cm_alt_resolve_service, name_len, -EINVAL,
	    .flags = RDMA_CM_ALT_SERVICE_BY_ID, ID(rdma_cm_alt_resolve_service, id),
	    .reserved = { SPAN(rdma_cm_alt_resolve_service, __reserved) }),
	ROW(SERVICES, rdma_cm_alt_services, out_count, -ENOENT, .outputs = true,
	    ID(rdma_cm_alt_services, id), .reserved = { SPAN(rdma_cm_alt_services, __reserved) }),
};

#define for_each_row(row)							\
	for ((row) = rows; (row) < rows + sizeof(rows) / sizeof(rows[0]); (row)++)

static void expect(const struct row *row, const char *what, size_t n, int is, int wanted)
{
	if (is != wanted)
		ktap_fail(__FILE__, __LINE__, "%s, %s %zu: %d, wanted %d", row->name, what, n, is,
			  wanted);
}

static void set_u32(uint8_t *cmd, size_t offset, uint32_t value)
{
	memcpy(cmd + offset, &value, sizeof(value));
}

/* The harmless call in a buffer of two pages. */
static uint8_t *prepare(const struct row *row, size_t size)
{
	static uint8_t cmd[2 * PAGE] __attribute__((aligned(8)));

	memset(cmd, 0, sizeof(cmd));
	set_u32(cmd, 0, size);
	if (row->id)
		set_u32(cmd, row->id, NO_ID);
	return cmd;
}

/* What the harmless call returns: a command that is not built in is refused after all checks. */
static int harmless_result(const struct row *row)
{
	static struct rdma_cm_alt_info info;

	if (!info.size) {
		info.size = sizeof(info);
		EXPECT_EQ(rca_call(get_ctx(), RDMA_CM_ALT_INFO, &info), 0);
	}
	if (info.out_commands >> (_IOC_NR(row->cmd) - RDMA_CM_ALT_CMD_BASE) & 1)
		return row->harmless;
	return -EOPNOTSUPP;
}

static int harmless(int ctx, const struct row *row, uint8_t *cmd)
{
	int ret = rca_call(ctx, row->cmd, cmd);

	if (!ret && row->cmd == RDMA_CM_ALT_QUEUE_CREATE)
		MUST(close(((struct rdma_cm_alt_queue_create *)cmd)->out_fd));
	return ret;
}

TEST(the_table_has_every_ioctl)
{
	const struct row *row;
	unsigned int nr = RDMA_CM_ALT_CMD_BASE;

	for_each_row(row)
		EXPECT_EQ(_IOC_NR(row->cmd), nr++);
	EXPECT_EQ(nr, RDMA_CM_ALT_CMD_END);
}

TEST(exact_size_is_taken)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row)
		expect(row, "size", row->size, harmless(ctx, row, prepare(row, row->size)),
		       harmless_result(row));
}

TEST(size_below_the_mandatory_part_is_einval)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row)
		for (size_t size = 0; size < row->min; size++)
			expect(row, "size", size, harmless(ctx, row, prepare(row, size)), -EINVAL);
}

TEST(optional_tail_may_be_missing_and_stays_untouched)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		for (size_t size = row->min; size < row->size; size++) {
			uint8_t *cmd = prepare(row, size);

			memset(cmd + size, CANARY, row->size - size);
			expect(row, "size", size, harmless(ctx, row, cmd), harmless_result(row));
			for (size_t i = size; i < row->size; i++)
				expect(row, "byte", i, cmd[i], CANARY);
		}
	}
}

TEST(longer_with_zero_tail_is_taken)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		expect(row, "size", row->size + 1,
		       harmless(ctx, row, prepare(row, row->size + 1)), harmless_result(row));
		expect(row, "size", PAGE, harmless(ctx, row, prepare(row, PAGE)),
		       harmless_result(row));
	}
}

TEST(longer_with_other_tail_is_e2big)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		size_t where[] = { row->size, row->size + 7, PAGE - 1 };

		for (int i = 0; i < 3; i++) {
			uint8_t *cmd = prepare(row, PAGE);

			cmd[where[i]] = 1;
			expect(row, "byte", where[i], harmless(ctx, row, cmd), -E2BIG);
		}
	}
}

TEST(more_than_a_page_is_e2big)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		expect(row, "size", PAGE + 1, harmless(ctx, row, prepare(row, PAGE + 1)), -E2BIG);
		expect(row, "size", UINT32_MAX, harmless(ctx, row, prepare(row, UINT32_MAX)),
		       -E2BIG);
	}
}

TEST(unknown_flag_is_eopnotsupp)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		for (int bit = 0; bit < 32; bit++) {
			uint8_t *cmd = prepare(row, row->size);

			if (row->flags & 1U << bit)
				continue;
			set_u32(cmd, 4, 1U << bit);
			expect(row, "flag bit", bit, harmless(ctx, row, cmd), -EOPNOTSUPP);
		}
	}
}

TEST(reserved_member_is_eopnotsupp)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		for (int n = 0; n < 3; n++) {
			for (size_t i = 0; i < row->reserved[n].len; i++) {
				uint8_t *cmd = prepare(row, row->size);

				cmd[row->reserved[n].offset + i] = 1;
				expect(row, "byte", row->reserved[n].offset + i,
				       harmless(ctx, row, cmd), -EOPNOTSUPP);
			}
		}
	}
}

TEST(unknown_number_is_enotty)
{
	uint8_t cmd[PAGE] = { 8 };
	int ctx = get_ctx();

	for (unsigned int nr = 0; nr < 256; nr++) {
		if (nr >= RDMA_CM_ALT_CMD_BASE && nr < RDMA_CM_ALT_CMD_END)
			continue;
		EXPECT_EQ(rca_call(ctx, _IO(RDMA_CM_ALT_IOC_TYPE, nr), cmd), -ENOTTY);
	}
}

TEST(other_type_or_direction_is_enotty)
{
	const struct row *row;
	int ctx = get_ctx();

	for_each_row(row) {
		unsigned int nr = _IOC_NR(row->cmd);

		expect(row, "type", 0,
		       rca_call(ctx, _IO(RDMA_CM_ALT_IOC_TYPE + 1, nr), prepare(row, row->size)),
		       -ENOTTY);
		expect(row, "direction", 0,
		       rca_call(ctx, _IOWR(RDMA_CM_ALT_IOC_TYPE, nr, uint64_t),
				prepare(row, row->size)),
		       -ENOTTY);
	}
}

/* A page followed by an unmapped page, which truncates a struct at its end. */
static uint8_t *last_page(void)
{
	uint8_t *pages = MUST(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	MUST(munmap(pages + PAGE, PAGE));
	return pages;
}

TEST(bad_pointer_is_efault)
{
	const struct row *row;
	uint8_t *page = last_page();
	int ctx = get_ctx();

	for_each_row(row) {
		uint8_t *cut = page + PAGE - row->size + 1;

		expect(row, "null", 0, rca_call(ctx, row->cmd, NULL), -EFAULT);
		expect(row, "unmapped", 0, rca_call(ctx, row->cmd, page + PAGE), -EFAULT);
		expect(row, "kernel", 0, rca_call(ctx, row->cmd, (void *)-PAGE), -EFAULT);
		memcpy(cut, prepare(row, row->size), row->size - 1);
		expect(row, "cut off", 0, rca_call(ctx, row->cmd, cut), -EFAULT);
	}
}

TEST(answer_that_cannot_be_written_is_efault)
{
	const struct row *row;
	uint8_t *page = MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	int ctx = get_ctx();

	for_each_row(row) {
		int wanted = row->outputs && row->harmless != -EOPNOTSUPP ?
			     -EFAULT : harmless_result(row);

		MUST(mprotect(page, PAGE, PROT_READ | PROT_WRITE));
		memcpy(page, prepare(row, row->size), row->size);
		MUST(mprotect(page, PAGE, PROT_READ));
		expect(row, "read-only", 0, rca_call(ctx, row->cmd, page), wanted);
	}
}

/* The end of the answer is in a page that becomes read-only. */
TEST(answer_that_cannot_be_written_changes_nothing)
{
	uint8_t *pages = MUST(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct rdma_cm_alt_destroy *destroy;
	int ctx = get_ctx();
	uint32_t id = get_bound(ctx, -1, HERE, 0);
	struct rdma_cm_alt_listen *listen = (void *)(pages + PAGE - 16);

	*listen = (struct rdma_cm_alt_listen) { .size = sizeof(*listen), .id = id };
	destroy = (void *)(pages + PAGE - 12);
	MUST(mprotect(pages + PAGE, PAGE, PROT_READ));
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_LISTEN, listen), -EFAULT);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);

	destroy->size = sizeof(*destroy);
	destroy->flags = 0;
	destroy->id = id;
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_DESTROY, destroy), -EFAULT);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

static void no_32_bit_programs(int sig)
{
	(void)sig;
	ktap_skip("this kernel runs no 32-bit programs");
}

/* The ioctl of a 32-bit program. */
static int call_32(int ctx, unsigned long cmd, void *arg)
{
#ifdef __x86_64__
	long ret = 54;	/* ioctl */

	asm volatile("int $0x80" : "+a" (ret)
		     : "b" ((long)ctx), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
#else
	return -ENOSYS;
#endif
}

TEST(a_32_bit_caller_gets_the_same)
{
	const char *guest = getenv("GUEST");
	const struct row *row;
	uint8_t *low = MUST(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
	int ctx = get_ctx();

	memcpy(low, prepare(rows, rows->size), rows->size);
	/* In User-mode Linux int 0x80 is a 64-bit system call, whose number means another call. */
	if (guest && !strcmp(guest, "uml"))
		no_32_bit_programs(0);
	signal(SIGSEGV, no_32_bit_programs);
	if (call_32(ctx, RDMA_CM_ALT_INFO, low) == -ENOSYS)
		no_32_bit_programs(0);
	signal(SIGSEGV, SIG_DFL);
	EXPECT(((struct rdma_cm_alt_info *)low)->out_commands != 0);
	for_each_row(row) {
		memcpy(low, prepare(row, row->size), row->size);
		expect(row, "size", row->size, call_32(ctx, row->cmd, low), harmless_result(row));
	}
}

KTAP_MAIN

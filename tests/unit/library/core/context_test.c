// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of opening the device, of channels, options and missing objects. */
#include <stdlib.h>
#include <unistd.h>

#include "core/context.h"
#include "fake/fixture.h"

TEST(device_is_opened_once)
{
	struct rdma_event_channel *a = rdma_create_event_channel();
	struct rdma_event_channel *b = rdma_create_event_channel();

	assert_int_equal(fake.calls[FAKE(INFO)], 1);
	assert_int_equal(fake.calls[FAKE(QUEUE_CREATE)], 2);
	assert_string_equal(fake.path, "/dev/rdma_cm_alt");
	rdma_destroy_event_channel(a);
	rdma_destroy_event_channel(b);
	rdma_destroy_event_channel(NULL);
}

TEST(missing_node_is_enoent_after_both_places)
{
	fake.open_error = ENOENT;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENOENT);
	assert_string_equal(fake.path, "/dev/infiniband/rdma_cm_alt");
}

TEST(device_can_come_later)
{
	struct rdma_event_channel *ch;

	fake.open_error = ENOENT;
	assert_null(rdma_create_event_channel());
	fake.open_error = 0;
	ch = rdma_create_event_channel();
	assert_non_null(ch);
	rdma_destroy_event_channel(ch);
}

TEST(forbidden_device_is_eacces)
{
	fake.open_error = EACCES;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EACCES);
	assert_string_equal(fake.path, "/dev/rdma_cm_alt");
}

TEST(environment_names_the_device)
{
	struct rdma_event_channel *ch;

	setenv("RDMA_CM_ALT_DEVICE", "/dev/other", 1);
	ch = rdma_create_event_channel();
	unsetenv("RDMA_CM_ALT_DEVICE");
	assert_string_equal(fake.path, "/dev/other");
	rdma_destroy_event_channel(ch);
}

TEST(device_that_is_another_is_refused)
{
	fake.fail[FAKE(INFO)] = ENOTTY;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENODEV);
	fake.record_size = 8192;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EPERM);
}

TEST(channel_at_fd_limit_says_emfile)
{
	fake.fail[FAKE(QUEUE_CREATE)] = EMFILE;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EMFILE);
}

TEST(device_is_opened_again_when_a_program_closed_everything)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
	close(fake.context_fd);
	id = new_id(NULL);
	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 1)), 0);
	/* Ids of the old device are not taken for those of a new one. */
	close(fake.context_fd);
	assert_fails(EBADF, rdma_listen(id, 0));
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EBADF);
	rcl_id_free(rcl_id_of(id));
	id = new_id(NULL);
	/* EBADF of another descriptor does not mean that the device was closed. */
	fake.fail[FAKE(LISTEN)] = EBADF;
	assert_fails(EBADF, rdma_listen(id, 0));
	assert_int_equal(rdma_listen(id, 0), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Files know other ioctls, and not all say ENOTTY: epoll says EINVAL. */
TEST(device_is_opened_again_when_its_number_is_another_file)
{
	struct rdma_event_channel *ch;
	int number;

	rdma_destroy_event_channel(rdma_create_event_channel());
	number = fake.context_fd;
	fake.fail[FAKE(QUEUE_CREATE)] = EINVAL;
	fake.fail[FAKE(INFO)] = EINVAL;
	ch = rdma_create_event_channel();
	assert_non_null(ch);
	assert_int_not_equal(fake.context_fd, number);
	/* The library has left that file alone. */
	assert_int_equal(close(number), 0);
	rdma_destroy_event_channel(ch);
}

TEST(bad_descriptor_of_a_channel_is_no_reason_to_open)
{
	int opened;

	rdma_destroy_event_channel(rdma_create_event_channel());
	opened = fake.context_fd;
	fake.fail[FAKE(QUEUE_CREATE)] = EBADF;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EBADF);
	assert_int_equal(fake.context_fd, opened);
}

TEST(options_go_to_the_kernel)
{
	struct rdma_cm_id *id = new_id(NULL);
	uint8_t trunk = RDMA_CM_ALT_TRUNK_REQUIRE;
	int on = 1;

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					 &on, sizeof(on)), 0);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optname, RDMA_OPTION_ID_REUSEADDR);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optlen, sizeof(on));
	assert_ptr_equal((uintptr_t)fake.last[FAKE(SET_OPTION)].option.optval_uptr, &on);
	assert_int_equal(rdma_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					 &trunk, sizeof(trunk)), 0);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.level, RDMA_CM_ALT_OPTION);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optname, RDMA_CM_ALT_OPTION_TRUNK);
	assert_int_equal(fake.last[FAKE(SET_OPTION)].option.optlen, 1);
	assert_int_equal(fake.private_data[0], RDMA_CM_ALT_TRUNK_REQUIRE);
	fake.fail[FAKE(SET_OPTION)] = ENOSYS;
	assert_fails(ENOSYS, rdma_set_option(id, 7, 7, &on, sizeof(on)));
	assert_fails(EINVAL, rdma_set_option(NULL, 0, 0, &on, sizeof(on)));
	/* A timeout that the kernel refused is not stored. */
	fake.fail[FAKE(SET_OPTION)] = EFAULT;
	assert_fails(EFAULT, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     NULL, 1));
	assert_false(rcl_id_of(id)->ack_timeout_set);
	assert_int_equal(rdma_destroy_id(id), 0);
}

RUN

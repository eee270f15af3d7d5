// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of the configuration file and the environment. */
#include "fixture.h"

#include <stdio.h>
#include <unistd.h>

static char path[] = "/tmp/rcl-preload-XXXXXX";
static char told[4096];

/* Writes a file of @size bytes, and reads it; what is reported goes to @told. */
static void read_bytes(const char *text, size_t size)
{
	FILE *file = fopen(path, "w"), *report = tmpfile();
	int kept = dup(STDERR_FILENO);

	assert_true(file && report && kept >= 0);
	fwrite(text, 1, size, file);
	fclose(file);
	rcl_config_path = path;
	rcl_config_reset();
	dup2(fileno(report), STDERR_FILENO);
	rcl_config_settings();
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(report);
	told[fread(told, 1, sizeof(told) - 1, report)] = 0;
	fclose(report);
}

static void read_text(const char *text)
{
	read_bytes(text, strlen(text));
}

static bool wants_tcp(void)
{
	return rcl_config_wants(AF_INET, SOCK_STREAM, 0);
}

static bool wants_udp(void)
{
	return rcl_config_wants(AF_INET, SOCK_DGRAM, 0);
}

TEST(each_socket_is_wanted_without_a_file)
{
	assert_true(wants_tcp());
	assert_true(rcl_config_wants(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
}

TEST(lines_choose_sockets)
{
	read_text("# comment\n\n* INET STREAM TCP\n");
	assert_string_equal(told, "");
	assert_true(wants_tcp());
	assert_false(wants_udp());
	assert_false(rcl_config_wants(AF_INET6, SOCK_STREAM, 0));
	read_text("* pf_inet6 sock_dgram ipproto_udp\r\n* AF_INET * UDP and text behind");
	assert_string_equal(told, "");
	assert_false(wants_tcp());
	assert_true(wants_udp());
	assert_true(rcl_config_wants(AF_INET6, SOCK_DGRAM, 0));
	assert_false(rcl_config_wants(AF_INET6, SOCK_STREAM, 0));
	read_text("* * STREAM *\n");
	assert_true(wants_tcp());
	assert_false(wants_udp());
	read_text("*\tIB\t*\t*\n");
	assert_true(rcl_config_wants(27, SOCK_STREAM, 0));
	assert_false(wants_tcp());
}

TEST(programs_are_prefixes)
{
	read_text("config * * *\n");
	assert_true(wants_tcp());
	read_text("CONFIG_T * * *\n");
	assert_true(wants_tcp());
	read_text("config_test_and_more * * *\nother * * *\n");
	assert_false(wants_tcp());
}

TEST(bad_lines_are_reported_and_skipped)
{
	read_text("* INET STREAM\n* INET STREAM TCPP\n  # c\n* INETS * *\n* INET RAW TCP\nx\n"
		  "* INET DGRAM #UDP\n* INET DGRAM UDP\n");
	assert_true(wants_udp());
	assert_false(wants_tcp());
	assert_non_null(strstr(told, ":1: line ignored: no protocol"));
	assert_non_null(strstr(told, ":2: line ignored: protocol 'TCPP' is not *, TCP or UDP"));
	assert_non_null(strstr(told, ":4: line ignored: domain 'INETS'"));
	assert_non_null(strstr(told, ":5: line ignored: type 'RAW'"));
	assert_non_null(strstr(told, ":6: line ignored: no domain"));
	assert_non_null(strstr(told, ":7: line ignored: no protocol"));
	assert_null(strstr(told, ":3:"));
	assert_null(strstr(told, ":8:"));
	assert_non_null(strstr(told, path));
}

TEST(hostile_lines_do_no_harm)
{
	static char line[100000];

	memset(line, 'x', sizeof(line) - 1);
	read_text(line);
	assert_non_null(strstr(told, ":1: line ignored"));
	assert_true(strlen(told) < 300);
	strcpy(line + sizeof(line) - 20, " INET STREAM TCP\n");
	read_text(line);
	assert_string_equal(told, "");
	assert_false(wants_tcp());
	read_bytes("* INET STREAM TCP\0* * * *\n* * * UDP", 35);
	assert_non_null(strstr(told, ":1: line ignored: a byte is 0"));
	assert_false(wants_tcp());
	assert_true(wants_udp());
	read_text("%s%n%s %s%n * *\n");
	assert_non_null(strstr(told, "'%s%n' is not"));
}

TEST(numbers_of_the_environment)
{
	setenv("RS_SQ_SIZE", "100", 1);
	setenv("RS_RQ_SIZE", "1e3", 1);
	setenv("RS_INLINE", "-1", 1);
	setenv("RDMAV_FORK_SAFE", "99999999999999999999", 1);
	read_text("");
	assert_int_equal(rcl_config_settings()->sq_size, 100);
	assert_int_equal(rcl_config_settings()->rq_size, 0);
	assert_int_equal(rcl_config_settings()->inline_size, 0);
	assert_int_equal(rcl_config_settings()->fork_safe, 0);
	assert_non_null(strstr(told, "RS_RQ_SIZE=1e3 is no number"));
	assert_non_null(strstr(told, "RS_INLINE=-1"));
	assert_non_null(strstr(told, "RDMAV_FORK_SAFE=99"));
	unsetenv("RS_RQ_SIZE");
	unsetenv("RS_INLINE");
}

TEST(sizes_reach_the_rsocket)
{
	int fd;

	setenv("RS_SQ_SIZE", "100", 1);
	setenv("RS_RQ_SIZE", "200", 1);
	setenv("RS_INLINE", "32", 1);
	rcl_config_reset();
	fd = new_socket();
	assert_int_equal(fake.sq_size, 100);
	assert_int_equal(fake.rq_size, 200);
	assert_int_equal(fake.inline_size, 32);
	preload_close(fd);
	unsetenv("RS_SQ_SIZE");
	unsetenv("RS_RQ_SIZE");
	unsetenv("RS_INLINE");
}

TEST(unwanted_sockets_are_libc_s)
{
	int fd;

	read_text("other * * *\n");
	fd = new_socket();
	assert_int_equal(fake.made, 0);
	preload_close(fd);
}

int main(void)
{
	int failed;

	close(mkstemp(path));
	failed = unit_run();
	unlink(path);
	return failed;
}

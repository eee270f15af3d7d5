// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of files that captures are written to: nobody who has an older file reads a new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/recorder/create.h"

#define OLD "old"
#define NEW "new"

static char why[256];

/* Each test has an empty directory of its own, which is the working directory. */
static int enter_directory(void **state)
{
	static char name[32];

	strcpy(name, "/tmp/rca-create-XXXXXX");
	umask(0);
	*state = name;
	*why = '\0';
	return mkdtemp(name) && !chdir(name) ? 0 : -1;
}

static int leave_directory(void **state)
{
	static const char * const names[] = { "file", "other", "link", "fifo", "directory" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(names[i]);
	return chdir("/") || rmdir(*state);
}

static void put(int fd, const char *text)
{
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void put_old(const char *name)
{
	put(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644), OLD);
}

static void assert_read(int fd, const char *text)
{
	char bytes[16] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes) - 1), strlen(text));
	assert_string_equal(bytes, text);
	close(fd);
}

static void assert_content(const char *name, const char *text)
{
	assert_read(open(name, O_RDONLY), text);
}

static int create(const char *name, bool replace, bool expect_new)
{
	bool created;
	int fd = create_file(name, replace, &created, why, sizeof(why));

	assert_int_equal(created, expect_new);
	if (fd < 0)
		assert_true(*why);
	else
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	return fd;
}

static void assert_refused(const char *name, bool replace, const char *expected)
{
	assert_int_equal(create(name, replace, false), -1);
	assert_non_null(strstr(why, expected));
}

static void assert_private(const char *name)
{
	struct stat file;

	assert_int_equal(lstat(name, &file), 0);
	assert_int_equal(file.st_mode, S_IFREG | 0600);
}

static void creates_files(void **state)
{
	(void)state;
	for (int replace = 0; replace < 2; replace++) {
		put(create("file", replace, true), NEW);
		assert_private("file");
		assert_content("file", NEW);
		assert_int_equal(unlink("file"), 0);
	}
	assert_refused("missing/file", true, "cannot be created: No such file");
}

/* Who has opened the old file, or has a hard link to it, reads the old one. */
static void replaces_files(void **state)
{
	int before;

	(void)state;
	put_old("file");
	assert_int_equal(link("file", "other"), 0);
	before = open("file", O_RDONLY);
	put(create("file", true, true), NEW);
	assert_private("file");
	assert_content("file", NEW);
	assert_read(before, OLD);
	assert_content("other", OLD);
}

static void keeps_files(void **state)
{
	(void)state;
	put_old("file");
	assert_int_equal(symlink("file", "link"), 0);
	assert_refused("file", false, "File exists");
	assert_refused("link", false, "File exists");
	assert_refused("/dev/null", false, "File exists");
	assert_content("file", OLD);
}

static void does_not_follow_links(void **state)
{
	struct stat file;

	(void)state;
	put_old("file");
	assert_int_equal(symlink("file", "link"), 0);
	assert_refused("link", true, "symbolic link to another file");
	assert_content("file", OLD);
	assert_int_equal(lstat("link", &file), 0);
	assert_true(S_ISLNK(file.st_mode));
	assert_int_equal(unlink("file"), 0);
	assert_refused("link", true, "symbolic link to a file that does not exist");
	assert_int_equal(access("file", F_OK), -1);
}

static void opens_devices(void **state)
{
	struct stat before, after;
	int fd;

	(void)state;
	assert_int_equal(stat("/dev/full", &before), 0);
	fd = create("/dev/full", true, false);
	assert_int_equal(write(fd, NEW, 1), -1);
	assert_int_equal(errno, ENOSPC);
	close(fd);
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(symlink("/dev/null", "link"), 0);
	put(create("link", true, false), NEW);
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_refused("directory", true, "cannot be opened: Is a directory");
}

static void opens_fifos(void **state)
{
	struct stat file;
	int reader;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0644), 0);
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	put(create("fifo", true, false), NEW);
	assert_read(reader, NEW);
	assert_int_equal(stat("fifo", &file), 0);
	assert_int_equal(file.st_mode, S_IFIFO | 0644);
}

/* A shell may have written into the file of standard output before, and may afterwards. */
static void opens_standard_output(void **state)
{
	int status;
	pid_t child;

	(void)state;
	put_old("file");
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool created;
		int fd;

		if (dup2(open("file", O_WRONLY), STDOUT_FILENO) < 0 ||
		    lseek(STDOUT_FILENO, 0, SEEK_END) < 0)
			_exit(1);
		fd = create_file("/dev/stdout", true, &created, why, sizeof(why));
		if (fd < 0 || created || write(fd, NEW, 3) != 3)
			_exit(2);
		_exit(write(STDOUT_FILENO, ".", 1) != 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_content("file", OLD NEW ".");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)
		IN_DIRECTORY(creates_files),
		IN_DIRECTORY(replaces_files),
		IN_DIRECTORY(keeps_files),
		IN_DIRECTORY(does_not_follow_links),
		IN_DIRECTORY(opens_devices),
		IN_DIRECTORY(opens_fifos),
		IN_DIRECTORY(opens_standard_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

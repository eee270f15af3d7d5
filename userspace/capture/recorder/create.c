// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opens the file that a capture is written to. */
#include "capture/recorder/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Standard output shares its position with the program that opened it. */
static int open_again(const struct stat *file)
{
	struct stat out;

	if (fstat(STDOUT_FILENO, &out) || out.st_dev != file->st_dev || out.st_ino != file->st_ino)
		return -1;
	return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Opens a device or FIFO, also by a symbolic link, or the file that is standard output. */
static int open_special(const char *name, char *why, size_t why_len)
{
	int fd = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC), out;
	struct stat file;

	if (fd < 0 && errno == ENOENT) {
		snprintf(why, why_len, "is a symbolic link to a file that does not exist: give the "
			 "name of that file, or remove the link");
		return -1;
	}
	if (fd < 0 || fstat(fd, &file)) {
		snprintf(why, why_len, "cannot be opened: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!S_ISREG(file.st_mode))
		return fd;
	close(fd);
	out = open_again(&file);
	if (out < 0)
		snprintf(why, why_len, "is a symbolic link to another file: give the name of that "
			 "file, or remove the link");
	return out;
}

int create_file(const char *name, bool replace, bool *created, char *why, size_t why_len)
{
	struct stat old;
	int fd;

	*created = false;
	if (replace && !lstat(name, &old)) {
		if (!S_ISREG(old.st_mode))
			return open_special(name, why, why_len);
		if (unlink(name)) {
			snprintf(why, why_len, "cannot be replaced: %s", strerror(errno));
			return -1;
		}
	}
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		snprintf(why, why_len, "cannot be created: %s", strerror(errno));
	*created = fd >= 0;
	return fd;
}

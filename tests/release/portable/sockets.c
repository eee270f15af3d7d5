// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program of sockets: a thread sends a line, and gets it back in two parts.
 *
 *	sockets rsocket|tcp
 *
 * With "rsocket", the kernel's own sockets must not be connected: then the line has come over
 * rsockets.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE "hello, other side"

#define MUST(expression) do { \
	if (!(expression)) { \
		printf("%d: %s: %s\n", __LINE__, #expression, strerror(errno)); \
		exit(1); \
	} \
} while (0)

static struct sockaddr_in server = { .sin_family = AF_INET };
static int connected = 1;	/* whether the kernel's sockets shall be */

static void look_at_socket(int fd)
{
	struct sockaddr_storage addr;
	socklen_t length = sizeof(addr);

	MUST(getpeername(fd, (struct sockaddr *)&addr, &length) == 0);
	length = sizeof(addr);
	MUST((syscall(SYS_getpeername, fd, &addr, &length) == 0) == connected);
}

static void *client(void *arg)
{
	struct iovec parts[2];
	char buf[100] = "";
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)arg;
	MUST(fd >= 0);
	MUST(connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0);
	look_at_socket(fd);
	MUST(send(fd, LINE, strlen(LINE), 0) == (ssize_t)strlen(LINE));
	MUST(recv(fd, buf, 5, MSG_WAITALL) == 5);
	parts[0] = (struct iovec){ .iov_base = buf + 5, .iov_len = 2 };
	parts[1] = (struct iovec){ .iov_base = buf + 7, .iov_len = sizeof(buf) - 8 };
	MUST(readv(fd, parts, 2) == (ssize_t)strlen(LINE) - 5);
	MUST(!strcmp(buf, LINE));
	MUST(close(fd) == 0);
	return NULL;
}

static void serve(int listener)
{
	struct pollfd wait = { .events = POLLIN };
	char buf[100];
	ssize_t n;
	int fd = accept(listener, NULL, NULL);

	MUST(fd >= 0);
	look_at_socket(fd);
	wait.fd = fd;
	MUST(poll(&wait, 1, 10000) == 1 && wait.revents & POLLIN);
	n = read(fd, buf, sizeof(buf));
	MUST(n == (ssize_t)strlen(LINE));
	MUST(write(fd, buf, n) == n);
	MUST(recv(fd, buf, 1, 0) == 0);
	MUST(close(fd) == 0);
}

int main(int argc, char *argv[])
{
	socklen_t length = sizeof(server);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "rsocket"))
		connected = 0;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(listener >= 0);
	MUST(bind(listener, (struct sockaddr *)&server, sizeof(server)) == 0);
	MUST(listen(listener, 5) == 0);
	MUST(getsockname(listener, (struct sockaddr *)&server, &length) == 0);
	MUST(pthread_create(&thread, NULL, client, NULL) == 0);
	serve(listener);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(close(listener) == 0);
	return 0;
}

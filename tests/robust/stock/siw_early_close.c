// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Peers of a listener on siw whose connections end before siw accepts them. The socket of such a
 * connection has the sk_user_data of the listener's until then, so siw's callbacks take it for the
 * listener: siw_cm_work_handler() releases its endpoint, which siw_destroy_listen() uses again,
 * or siw_cm_llp_error_report() uses it when siw_destroy_listen() has freed it. Both are a use
 * after free for KASAN and end the debug guest. Nothing but stock's modules:
 *
 *	siw_early_close [SECONDS]
 *
 * It wants siw0 of tests/harness/guest/siw.sh. A thread listens through the stock rdma_cm and
 * closes it, over and over; others connect plain TCP sockets, ask for a connection and close them.
 * In a guest where a suite kills programs that connect over siw, so that TCP connections end early,
 * no listener may go.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rca_test.h"
#include "stock_cm.h"

#define SERVER "10.11.0.1"
#define PORT 18515
#define CLIENTS 3

static bool over;

static void *knock(void *arg)
{
	/* The request of MPA (RFC 5044): key, flags, revision 1, no private data. */
	static const char request[20] = "MPA ID Req Frame\x40\x01";
	addr_t addr = make_addr(SERVER, PORT);
	int fd;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)))
			send(fd, request, sizeof(request), MSG_NOSIGNAL);
		close(fd);
	}
	return arg;
}

int main(int argc, char **argv)
{
	time_t ends = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	pthread_t clients[CLIENTS];
	int listened = 0, fd;
	uint32_t id;

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, knock, NULL);
	while (time(NULL) < ends) {
		fd = stock_open();
		id = stock_id(fd);
		if (!stock_bind(fd, id, SERVER, PORT) && !stock_listen(fd, id))
			listened++;
		usleep(listened % 16 * 500);
		close(fd);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	ktap_note("listened %d times, and nothing happened", listened);
	return !listened;
}

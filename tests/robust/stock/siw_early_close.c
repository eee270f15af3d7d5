// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Peers of a listener on siw that disconnect before siw accepts them. Until the accept, the
 * socket of such a connection has the sk_user_data of the listener, so siw's callbacks take it
 * for the listener: either siw_cm_work_handler() releases the endpoint of the listener, which
 * siw_destroy_listen() uses again, or siw_cm_llp_error_report() uses it after
 * siw_destroy_listen() has freed it. Both are a use after free for KASAN and end the debug
 * guest. Uses stock modules only:
 *
 *	siw_early_close [SECONDS]
 *
 * The program needs siw0 of tests/harness/guest/siw.sh. A thread listens through the stock
 * rdma_cm and closes the listener, repeatedly; other threads connect plain TCP sockets, send a
 * request and close them. In a guest where a suite kills programs that connect over siw, so
 * that TCP connections end early, no listener may be closed.
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
	/* The MPA request (RFC 5044): key, flags, revision 1, no private data. */
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The end of a connection by disconnect, destroy, close or death of either side. */
#include "rca_test.h"

/* The peer's kernel answers the DREQ without its program. */
TEST(client_disconnects)
{
	struct pair p = get_connected();
	event_t ev;

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT_STATUS(p.cq, DISCONNECTED, p.client, 0, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	EXPECT_EVENT_STATUS(p.lq, DISCONNECTED, p.server, 0, &ev);
	EXPECT_EQ(ev.cookie, SERVER);
}

TEST(server_disconnects)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
}

TEST(both_disconnect_at_a_time)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
}

TEST(timewait_exit_follows_on_both_sides)
{
	struct pair p = get_connected();
	event_t ev;

	pair_disconnect(&p);
	EXPECT_EVENT_STATUS(p.cq, TIMEWAIT_EXIT, p.client, 0, &ev);
	EXPECT_EQ(ev.cookie, CLIENT);
	EXPECT_EVENT_STATUS(p.lq, TIMEWAIT_EXIT, p.server, 0, &ev);
	EXPECT_EQ(ev.cookie, SERVER);
	expect_no_events(&p);
}

TEST(events_of_the_end_wait_in_order)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	/* When the client has seen its last event, the server's two wait. */
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT_EVENT(p.lq, TIMEWAIT_EXIT, p.server);
}

TEST(disconnect_again_is_0_and_tells_nothing)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	EXPECT_EVENT(p.lq, TIMEWAIT_EXIT, p.server);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	expect_no_events(&p);
}

TEST(disconnect_before_the_connection_is_0_and_changes_nothing)
{
	struct pair p = get_requested(NULL);

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	pair_send_rep(&p);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EQ(rca_disconnect(p.ctx, p.server), 0);
	pair_send_rtu(&p);
}

TEST(destroy_tells_the_peer)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT(!event_waits(p.cq));
}

TEST(destroy_of_the_server_tells_the_client)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT(!event_waits(p.lq));
}

TEST(destroy_of_both)
{
	struct pair p = get_connected();

	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	expect_no_events(&p);
}

TEST(destroy_while_the_peer_has_not_answered)
{
	struct pair p;

	/* In the states REQ sent, REP received and REP sent: the other end is notified. */
	p = get_requested(NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);

	p = get_accepted(NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EVENT_STATUS(p.lq, REJECTED, p.server, 28, NULL);

	p = get_accepted(NULL);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	if (rca_establish(p.ctx, p.client))
		EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	else
		EXPECT(event_comes(p.cq, PATIENCE));
}

TEST(close_of_the_queue_tells_the_peer)
{
	struct pair p = get_connected();

	MUST(close(p.cq));
	EXPECT_EVENT(p.lq, DISCONNECTED, p.server);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), -ENOENT);
}

TEST(death_tells_the_peer)
{
	struct pair p = get_listening(HERE);
	int pipes[2];
	event_t ev;
	pid_t pid;
	char byte;

	MUST(pipe(pipes));
	pid = MUST(fork());
	if (!pid) {
		int ctx = get_ctx(), cq = get_queue(ctx);
		uint32_t client = get_client(ctx, cq, HERE, p.port, 0);

		EXPECT_EQ(rca_connect(ctx, client, NULL, 0), 0);
		EXPECT_EVENT(cq, CONNECT_RESPONSE, client);
		EXPECT_EQ(rca_establish(ctx, client), 0);
		MUST(write(pipes[1], "", 1));
		pause();
	}
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
	EXPECT_EQ(MUST(read(pipes[0], &byte, 1)), 1);
	MUST(kill(pid, SIGKILL));
	EXPECT_EVENT(p.lq, DISCONNECTED, ev.id);
	MUST(waitpid(pid, NULL, 0));
}

KTAP_MAIN

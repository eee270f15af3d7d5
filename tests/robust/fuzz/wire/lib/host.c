// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See host.h. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>

#include "messages.h"

#define HOST_LID 0x900
#define OUR_LID 1
#define OUR_ADDRESS "10.8.0.1"

/* Offsets in messages; a SIDR_REP has the receiver's identifier where others have the sender's. */
enum { LOCAL = 24, REMOTE = 28, SERVICE_ID = 32, REQ_GUID = 40, REP_GUID = 52, REQ_QPN = 56,
	REP_QPN = 36, DREQ_QPN = 32, LAP_QPN = 36 };

uint32_t mad_number(const uint8_t *mad, unsigned int at, unsigned int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | mad[at++];
	return value;
}

static bool asks(const uint8_t *mad)
{
	return mad[17] == CM_REQ || mad[17] == CM_SIDR_REQ;
}

static uint32_t local_of(const uint8_t *mad)
{
	return mad[17] == CM_SIDR_REP ? 0 : mad_number(mad, LOCAL, 4);
}

static uint32_t remote_of(const uint8_t *mad)
{
	if (asks(mad))
		return 0;
	return mad_number(mad, mad[17] == CM_SIDR_REP ? LOCAL : REMOTE, 4);
}

static const struct name *find_name(const struct names *names, unsigned int part, uint32_t recorded)
{
	for (unsigned int i = 0; i < names->count; i++)
		if (names->all[i].part == part && names->all[i].recorded == recorded)
			return &names->all[i];
	return NULL;
}

static const struct name *find_real(const struct names *names, uint32_t real)
{
	for (unsigned int i = 0; i < names->count; i++)
		if (names->all[i].real == real)
			return &names->all[i];
	return NULL;
}

static void add_name(struct names *names, unsigned int part, uint32_t recorded, uint32_t real)
{
	if (names->count < NAMES && !find_name(names, part, recorded))
		names->all[names->count++] = (struct name) { part, recorded, real };
}

static uint32_t real_of(const struct names *names, unsigned int part, uint32_t recorded)
{
	const struct name *name = find_name(names, part, recorded);

	return name ? name->real : recorded;
}

void host_open(struct host *host, unsigned int number)
{
	static const uint8_t first[] = { 0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 2, 0, 0 };
	char path[64], text[64] = "";
	FILE *file;

	*host = (struct host) { .number = number, .way = { HOST_LID + number, OUR_LID } };
	snprintf(path, sizeof(path), KNOBS "host/%u", number);
	host->fd = MUST(open(path, O_RDONLY));
	memcpy(host->way.sgid, first, sizeof(first));
	host->way.sgid[15] = number;
	file = fopen("/sys/class/infiniband/hca0/ports/1/gids/0", "r");
	EXPECT(file && fgets(text, sizeof(text), file));
	fclose(file);
	text[strcspn(text, "\n")] = 0;
	EXPECT_EQ(inet_pton(AF_INET6, text, host->way.dgid), 1);
	snprintf(text, sizeof(text), "10.8.0.%u", 100 + number);
	inet_pton(AF_INET, text, &host->way.src);
	inet_pton(AF_INET, OUR_ADDRESS, &host->way.dst);
}

void host_begin(struct host *host, const struct sequence *sequence, uint32_t turn)
{
	host->sequence = sequence;
	host->base = 0x40000000 + turn * 2 * STEPS;
	host->guid = 0x0002c90300000000 | (uint64_t)turn << 8 | host->number;
	host->peers.count = 0;
	host->ours.count = 0;
	host->qps.count = 0;
	host->received = 0;
	for (unsigned int i = 0; i < sequence->count; i++) {
		const struct step *step = &sequence->steps[i];

		if (step->of_peer && local_of(step->mad))
			add_name(&host->peers, step->part, local_of(step->mad), host->base + i);
	}
}

static void transmit(struct host *host, const uint8_t *mad)
{
	struct record record = {
		.slid = htons(host->way.slid), .dlid = htons(host->way.dlid),
	};
	static int fd = -1;

	if (fd < 0)
		fd = MUST(open(KNOBS "inject", O_WRONLY));
	memcpy(record.mad, mad, MAD_BYTES);
	EXPECT_EQ(write(fd, &record, sizeof(record)), sizeof(record));
}

static void put_service(uint8_t *mad, const struct host *host, uint64_t *state)
{
	uint16_t port = mad[17] == CM_REQ ? host->tcp : host->udp;

	if (!host->exact && !draw_below(state, 16))
		port = draw(state);
	cm_mad_put(mad, SERVICE_ID + 6, 2, port);
}

void host_send(struct host *host, const struct step *step, uint64_t *state)
{
	unsigned int part = step->part;
	uint8_t mad[MAD_BYTES];

	memcpy(mad, step->mad, sizeof(mad));
	if (local_of(mad))
		cm_mad_put(mad, LOCAL, 4, real_of(&host->peers, part, local_of(mad)));
	if (remote_of(mad))
		cm_mad_put(mad, mad[17] == CM_SIDR_REP ? LOCAL : REMOTE, 4,
			   real_of(&host->ours, part, remote_of(mad)));
	if (asks(mad)) {
		cm_mad_move(mad, &host->way, state);
		put_service(mad, host, state);
	}
	if (mad[17] == CM_REQ)
		cm_mad_put(mad, REQ_GUID, 8, host->guid);
	else if (mad[17] == CM_REP)
		cm_mad_put(mad, REP_GUID, 8, host->guid);
	else if (mad[17] == CM_DREQ)
		cm_mad_put(mad, DREQ_QPN, 3,
			   real_of(&host->qps, part, mad_number(mad, DREQ_QPN, 3)));
	else if (mad[17] == CM_LAP)
		cm_mad_put(mad, LAP_QPN, 3,
			   real_of(&host->qps, part, mad_number(mad, LAP_QPN, 3)));
	transmit(host, mad);
}

/* Whether a message of our stack may be the recorded one. */
static bool fits(const struct host *host, const struct step *step, const uint8_t *mad)
{
	const struct name *peer = find_name(&host->peers, step->part, remote_of(step->mad));
	const struct name *known = find_name(&host->ours, step->part, local_of(step->mad));

	if (step->of_peer || step->mad[17] != mad[17] || !local_of(step->mad))
		return false;
	if (known ? known->real != local_of(mad) : !!find_real(&host->ours, local_of(mad)))
		return false;
	return asks(mad) || (peer && peer->real == remote_of(mad));
}

static void learn(struct host *host, const uint8_t *mad)
{
	unsigned int qpn = mad[17] == CM_REQ ? REQ_QPN : mad[17] == CM_REP ? REP_QPN : 0;

	for (unsigned int i = 0; i < host->sequence->count && local_of(mad); i++) {
		const struct step *step = &host->sequence->steps[i];

		if (!fits(host, step, mad))
			continue;
		add_name(&host->ours, step->part, local_of(step->mad), local_of(mad));
		if (qpn)
			add_name(&host->qps, step->part, mad_number(step->mad, qpn, 3),
				 mad_number(mad, qpn, 3));
		return;
	}
}

/* The end of a connection of an earlier turn. */
static void let_go(struct host *host, const uint8_t *dreq)
{
	uint8_t drep[MAD_BYTES] = {};

	memcpy(drep, dreq, LOCAL);
	drep[17] = CM_DREP;
	cm_mad_put(drep, LOCAL, 4, mad_number(dreq, REMOTE, 4));
	cm_mad_put(drep, REMOTE, 4, mad_number(dreq, LOCAL, 4));
	transmit(host, drep);
}

bool host_receive(struct host *host, uint8_t *mad)
{
	struct record record;
	ssize_t len = read(host->fd, &record, sizeof(record));

	if (len < 0 && errno == EAGAIN)
		return false;
	EXPECT_EQ(len, sizeof(record));
	memcpy(mad, record.mad, MAD_BYTES);
	EXPECT(mad[17] >= CM_REQ && mad[17] <= CM_APR);
	host->received |= 1 << (mad[17] - CM_REQ);
	if (mad[17] == CM_DREQ && !find_real(&host->peers, remote_of(mad)))
		let_go(host, mad);
	else
		learn(host, mad);
	return true;
}

bool host_knows(const struct host *host, unsigned int part, uint32_t recorded)
{
	return find_name(&host->ours, part, recorded);
}

bool host_knows_qp(const struct host *host, const struct step *dreq)
{
	return find_name(&host->qps, dreq->part, mad_number(dreq->mad, DREQ_QPN, 3));
}

uint32_t host_peer(const struct host *host, const struct step *step)
{
	return real_of(&host->peers, step->part, local_of(step->mad));
}

uint32_t host_ours(const struct host *host, const struct step *step)
{
	return real_of(&host->ours, step->part, remote_of(step->mad));
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Explains a conversation. */
#include "capture/decode/cause.h"

#include <inttypes.h>
#include <string.h>

#include "capture/decode/names.h"
#include "capture/format/cm.h"

enum { REQUESTER, RESPONDER, LISTED = 5, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17 };

#define SECOND 1e9
/*
 * Response timeouts. That of a REQ does not include the network, so at least a second is assumed.
 * SIDR_REQs and records of trunks have none; for these, and if the REQ is not in the capture, that
 * of librdmacm is assumed, 4.096 us * 2^20.
 */
#define LEAST_NS	1000000000ull
#define USUAL_NS	(4096ull << 20)

/* An explanation that is being written. */
struct account {
	const struct conversation *of;
	FILE *to;
	const char *indent;
	bool wrong;
};

/*
 * struct sent - transmissions of a message by an end
 * @times: number of them; those that were recorded at both ends count once
 */
struct sent {
	const struct said *first, *last;
	unsigned int times;
	char packets[96];
};

/* Whether a message has the type, and answers the type @about unless that is 0. */
static bool matches(const struct said *said, int from, unsigned int type, unsigned int about)
{
	return said->from == from && said->type == type && (!about || said->about == about);
}

static bool is_sent(const struct said *said)
{
	return said->way == RECORD_SENT || said->way == RECORD_SENT_AGAIN;
}

static void list_packet(struct sent *sent, unsigned int number)
{
	size_t len = strlen(sent->packets);

	if (sent->times < LISTED)
		snprintf(sent->packets + len, sizeof(sent->packets) - len, "%s%u",
			 sent->times ? ", " : "", number);
	else if (sent->times == LISTED)
		snprintf(sent->packets + len, sizeof(sent->packets) - len, " ...");
}

static struct sent count(const struct account *account, int from, unsigned int type,
			 unsigned int about)
{
	const struct conversation *of = account->of;
	struct sent sent = {};
	bool by_sender = false;

	for (size_t i = 0; i < of->count; i++)
		by_sender |= matches(&of->messages[i], from, type, about) &&
			     is_sent(&of->messages[i]);
	for (size_t i = 0; i < of->count; i++) {
		const struct said *said = &of->messages[i];

		if (!matches(said, from, type, about) || (by_sender && !is_sent(said)))
			continue;
		if (!sent.first)
			sent.first = said;
		sent.last = said;
		list_packet(&sent, said->number);
		sent.times++;
	}
	return sent;
}

static const char *name_of(const struct account *account, int end)
{
	if (account->of->local < 0)
		return account->of->ends[end].address;
	return account->of->local == end ? "this host" : "the peer";
}

static double seconds(const struct said *from, const struct said *to)
{
	return (int64_t)(to->time - from->time) / SECOND;
}

static void begin(struct account *account, bool wrong)
{
	fputs(account->indent, account->to);
	account->wrong |= wrong;
}

/* "REQ in packet 1", or "REQ in packet 1 was sent 3 times (packets 1, 2, 3)". */
static void tell_sent(const struct account *account, const struct sent *sent)
{
	fprintf(account->to, "%s in packet %u", cm_name(sent->first->type), sent->first->number);
	if (sent->times > 1)
		fprintf(account->to, " was sent %u times (packets %s)", sent->times, sent->packets);
	else
		fputs(" was sent once", account->to);
}

/* Nanoseconds in which a message, or for an MRA the message it is about, has to be answered. */
static uint64_t time_to_answer(const struct conversation *of, const struct said *said)
{
	uint64_t time = said->wait ?: of->response[said->from] ?: USUAL_NS;

	return of->sidr || time < LEAST_NS ? LEAST_NS : time;
}

/* A port of the conversation with messages that were not recorded, or NULL. */
static const struct record_port *port_with_drops(const struct conversation *of)
{
	const struct capture_total *total = of->whole->total;

	for (unsigned int i = 0; total && i < total->n_ports; i++)
		if (of->ports & conversation_port(i) && total->ports[i].dropped)
			return &total->ports[i];
	return NULL;
}

/* The name of a file may have newlines, which would look like lines of the explanation. */
static void print_name(FILE *to, const char *name, size_t size)
{
	for (size_t i = 0; i < size && name[i]; i++)
		fputc(name[i] < ' ' || name[i] > '~' ? '?' : name[i], to);
}

/* Explains that an answer may not have been recorded, if the capture is incomplete. */
static bool tell_gap(struct account *account, const struct said *unanswered)
{
	const struct record_port *port = port_with_drops(account->of);
	const struct cut_session *cut = account->of->cut;

	if (!port && (!cut || cut->packet <= unanswered->number))
		return false;
	fputs("; the capture has no answer, but it is incomplete: ", account->to);
	if (port) {
		fprintf(account->to, "%" PRIu64 " messages of ", port->dropped);
		print_name(account->to, port->device, sizeof(port->device));
		if (port->port)
			fprintf(account->to, "/%" PRIu32, port->port);
		fputs(" were not recorded.\n", account->to);
	} else {
		fprintf(account->to, "the frame in packet %u is cut.\n", cut->packet);
	}
	return true;
}

/* The reason is unknown if the capture ends within the response timeout, or is incomplete. */
static void tell_unanswered(struct account *account, const struct sent *sent,
			    const struct said *mra)
{
	const struct said *since = mra ?: sent->first;
	const char *peer = name_of(account, !sent->first->from);
	uint64_t time = time_to_answer(account->of, since);
	uint64_t left = account->of->whole->until - since->time;

	begin(account, false);
	tell_sent(account, sent);
	if (mra)
		fprintf(account->to, "; %s asked in packet %u to wait up to %.1f s (MRA)", peer,
			mra->number, mra->wait / SECOND);
	if (left < time) {
		fprintf(account->to, "; the capture ends %.3f s after %s, without an answer.\n",
			left / SECOND, mra ? "that" : "it");
		return;
	}
	if (tell_gap(account, since))
		return;
	account->wrong = true;
	if (mra)
		fprintf(account->to, ", and did not answer in the %.1f s that are recorded.\n",
			left / SECOND);
	else if (account->of->session)
		fprintf(account->to, " and not answered in the %.1f s that are recorded. A trunk "
			"loses no message: %s is slow, or the session was lost.\n", left / SECOND,
			peer);
	else
		fprintf(account->to, " and not answered: it or the answer was lost, or %s has no "
			"connection manager that listens.\n", peer);
}

/* Reports a message that needs an answer, and the answer. */
static void tell_answered(struct account *account, const struct sent *sent, const struct said *mra,
			  const struct said *answer)
{
	if (mra && mra->time <= answer->time) {
		begin(account, true);
		fprintf(account->to,
			"%s in packet %u was answered in packet %u after %.3f s: %s had asked in "
			"packet %u to wait up to %.1f s (MRA). Its program is slow.\n",
			cm_name(sent->first->type), sent->first->number, answer->number,
			seconds(sent->first, answer), name_of(account, answer->from), mra->number,
			mra->wait / SECOND);
	} else if (sent->times > 1) {
		begin(account, true);
		tell_sent(account, sent);
		if (sent->last->time > answer->time)
			fprintf(account->to, ", again after the answer in packet %u: that was lost "
				"or late.\n", answer->number);
		else
			fprintf(account->to, " and answered in packet %u, %.3f s after the first: "
				"messages were lost, or %s was slow.\n", answer->number,
				seconds(sent->first, answer), name_of(account, answer->from));
	}
}

static void tell_reject(struct account *account, const struct said *reject, const struct said *of)
{
	begin(account, true);
	fprintf(account->to, "REJ in packet %u answers ", reject->number);
	if (of)
		fprintf(account->to, "the %s of packet %u", cm_name(of->type), of->number);
	else
		fputs("a message that is not in the capture", account->to);
	fprintf(account->to, ": %s (reason %u).\n", name_reason(reject->reason), reject->reason);
}

/*
 * Reports a message and its answer, its reject, or that there is neither. Returns the answer, or
 * NULL.
 */
static const struct said *tell_exchange(struct account *account, int from, unsigned int type,
					unsigned int answer_type)
{
	struct sent sent = count(account, from, type, 0);
	struct sent answer = count(account, !from, answer_type, 0);
	struct sent mra = count(account, !from, CM_MRA, type);
	struct sent reject = count(account, !from, CM_REJ, type);

	if (!sent.first && reject.first) {
		tell_reject(account, reject.first, NULL);
		return NULL;
	}
	if (!sent.first)
		return answer.first;
	if (answer.first) {
		tell_answered(account, &sent, mra.first, answer.first);
	} else if (reject.first) {
		tell_answered(account, &sent, mra.first, reject.first);
		tell_reject(account, reject.first, sent.first);
	} else {
		tell_unanswered(account, &sent, mra.last);
	}
	return answer.first;
}

/* Reports the end of the connection. */
static void tell_end(struct account *account)
{
	for (int end = REQUESTER; end <= RESPONDER; end++) {
		struct sent request = count(account, end, CM_DREQ, 0);
		const struct said *answer;

		if (!request.first)
			continue;
		answer = tell_exchange(account, end, CM_DREQ, CM_DREP);
		if (!answer)
			continue;
		begin(account, false);
		fprintf(account->to,
			"DREQ in packet %u of %s ended the connection; the answer is in packet %u.\n",
			request.first->number, name_of(account, end), answer->number);
	}
}

static void tell_connection(struct account *account)
{
	struct sent request = count(account, REQUESTER, CM_REQ, 0), cancel, rtu;
	const struct said *reply = tell_exchange(account, REQUESTER, CM_REQ, CM_REP);

	cancel = count(account, REQUESTER, CM_REJ, CM_REQ);
	if (cancel.first && request.first) {
		begin(account, true);
		fprintf(account->to, "REJ in packet %u takes back the REQ of packet %u: %s (reason "
			"%u).\n", cancel.first->number, request.first->number,
			name_reason(cancel.first->reason), cancel.first->reason);
	}
	if (reply) {
		rtu = count(account, REQUESTER, CM_RTU, 0);
		/* A DREQ also shows that the REP has arrived. */
		tell_exchange(account, RESPONDER, CM_REP,
			      rtu.first || !count(account, REQUESTER, CM_DREQ, 0).first ? CM_RTU :
											CM_DREQ);
		if (rtu.first && request.first) {
			begin(account, false);
			fprintf(account->to, "RTU in packet %u established the connection, %.3f s "
				"after the REQ of packet %u.\n", rtu.first->number,
				seconds(request.first, rtu.first), request.first->number);
		}
	}
	for (int end = REQUESTER; end <= RESPONDER; end++)
		tell_exchange(account, end, CM_LAP, CM_APR);
	tell_end(account);
}

static void tell_sidr(struct account *account)
{
	const struct said *answer = tell_exchange(account, REQUESTER, CM_SIDR_REQ, CM_SIDR_REP);

	if (!answer)
		return;
	begin(account, answer->reason);
	fprintf(account->to, "SIDR_REP in packet %u says: %s (status %u).\n", answer->number,
		name_sidr_status(answer->reason), answer->reason);
}

void cause_title(FILE *to, const struct conversation *conversation)
{
	uint64_t service = conversation->service;
	unsigned int protocol = service >> 16 & 0xff;

	fprintf(to, "%s to %s", conversation->ends[REQUESTER].address,
		conversation->ends[RESPONDER].address);
	if (service >> 24 == 1 && (protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP))
		fprintf(to, ", %s port %u", protocol == PROTOCOL_TCP ? "TCP" : "UDP",
			(unsigned int)(service & 0xffff));
	else if (service)
		fprintf(to, ", service 0x%016" PRIx64, service);
	if (conversation->session)
		fputs(", over a trunk", to);
	if (conversation->id.handle)
		fprintf(to, ", id %" PRIu64 "/%" PRIu32, conversation->id.context,
			conversation->id.handle);
	if (*conversation->program) {
		fputs(", ", to);
		print_name(to, conversation->program, sizeof(conversation->program));
	}
	if (conversation->pid)
		fprintf(to, " (%" PRIu32 ")", conversation->pid);
}

bool cause_text(FILE *to, const struct conversation *conversation, const char *indent)
{
	struct account account = { .of = conversation, .to = to, .indent = indent };

	if (conversation->sidr)
		tell_sidr(&account);
	else
		tell_connection(&account);
	return account.wrong;
}

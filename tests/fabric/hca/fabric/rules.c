// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rules that drop, delay, duplicate, reorder or change MADs, by the attribute and with a
 * probability.
 *
 * Each rule draws from random numbers of its own, made from the seed and the rule's text: what it
 * decides depends on the MADs that match it and on nothing else, so a run can be repeated.
 *
 * Locking: @rules_lock, a mutex, taken in process context.
 */
#include "fabric/rules.h"

#include <linux/crc32.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fabric/fabric.h"

#define HISTORY		256
#define DEFAULT_MS	100

/**
 * struct rule - a rule
 * @entry: in the list of rules
 * @text: as it was written
 * @verdict: what happens to a MAD it hits
 * @class: management class of the MADs it matches
 * @attr: their attribute, 0 for each
 * @percent: how many of them it hits
 * @ms: for a delay, and before the twin of a duplicate
 * @skip: how many it matches before it may hit one
 * @left: how many it may still hit
 * @from: LID they come from, 0 for each
 * @to: LID they go to, 0 for each
 * @matched: how many it matched
 * @hit: how many it hit
 * @history: the first decisions, one character each
 * @random: where the decisions come from
 */
struct rule {
	struct list_head entry;
	char text[96];
	enum hca_verdict verdict;
	u8 class;
	u16 attr;
	u32 percent;
	u32 ms;
	u32 skip;
	u32 left;
	u32 from;
	u32 to;
	u32 matched;
	u32 hit;
	char history[HISTORY + 1];
	struct rnd_state random;
};

static const struct {
	const char *name;
	enum hca_verdict verdict;
} verdicts[] = {
	{ "drop", HCA_DROP },
	{ "delay", HCA_DELAY },
	{ "duplicate", HCA_DUPLICATE },
	{ "reorder", HCA_REORDER },
	{ "mutate", HCA_MUTATE },
};

static const struct {
	const char *name;
	u8 class;
	u16 attr;
} attrs[] = {
	{ "CM", IB_MGMT_CLASS_CM, 0 },
	{ "REQ", IB_MGMT_CLASS_CM, 0x10 },
	{ "MRA", IB_MGMT_CLASS_CM, 0x11 },
	{ "REJ", IB_MGMT_CLASS_CM, 0x12 },
	{ "REP", IB_MGMT_CLASS_CM, 0x13 },
	{ "RTU", IB_MGMT_CLASS_CM, 0x14 },
	{ "DREQ", IB_MGMT_CLASS_CM, 0x15 },
	{ "DREP", IB_MGMT_CLASS_CM, 0x16 },
	{ "SIDR_REQ", IB_MGMT_CLASS_CM, 0x17 },
	{ "SIDR_REP", IB_MGMT_CLASS_CM, 0x18 },
	{ "LAP", IB_MGMT_CLASS_CM, 0x19 },
	{ "APR", IB_MGMT_CLASS_CM, 0x1a },
	{ "SA", IB_MGMT_CLASS_SUBN_ADM, 0 },
	{ "SERVICE", IB_MGMT_CLASS_SUBN_ADM, 0x31 },
	{ "PATH", IB_MGMT_CLASS_SUBN_ADM, 0x35 },
	{ "MCMEMBER", IB_MGMT_CLASS_SUBN_ADM, 0x38 },
};

static DEFINE_MUTEX(rules_lock);
static LIST_HEAD(rules);
static u32 seed_value;

static void reseed(struct rule *rule)
{
	u32 text = crc32(0, rule->text, strlen(rule->text));

	prandom_seed_state(&rule->random, (u64)seed_value << 32 | text);
	rule->matched = 0;
	rule->hit = 0;
	memset(rule->history, 0, sizeof(rule->history));
}

static bool matches(const struct rule *rule, const struct hca_packet *packet)
{
	const struct ib_mad_hdr *mad = hca_packet_mad(packet);

	if (!mad || mad->mgmt_class != rule->class ||
	    (rule->attr && be16_to_cpu(mad->attr_id) != rule->attr))
		return false;
	/* Of the SA only what is asked of it: its answers have the same attributes. */
	if (rule->class == IB_MGMT_CLASS_SUBN_ADM && (mad->method & IB_MGMT_METHOD_RESP))
		return false;
	return (!rule->from || rule->from == packet->slid) &&
	       (!rule->to || rule->to == packet->dlid);
}

static bool hits(struct rule *rule)
{
	bool hit = prandom_u32_state(&rule->random) % 100 < rule->percent;

	if (!rule->left || rule->matched < rule->skip)
		hit = false;
	else if (hit)
		rule->left--;
	if (rule->matched < HISTORY)
		rule->history[rule->matched] = hit ? 'x' : '.';
	rule->matched++;
	rule->hit += hit;
	return hit;
}

/* Changes one to four bytes of a MAD behind its header. */
static void mutate(struct rule *rule, struct hca_packet *packet)
{
	static const u8 edges[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };
	u32 places = 1 + prandom_u32_state(&rule->random) % 4;
	u32 at, how, value;

	while (places--) {
		/* As often in the fields of the message as in its private data. */
		at = sizeof(struct ib_mad_hdr) + prandom_u32_state(&rule->random) %
			(places % 2 ? packet->len / 3 : packet->len - sizeof(struct ib_mad_hdr));
		how = prandom_u32_state(&rule->random);
		value = prandom_u32_state(&rule->random);
		switch (how % 3) {
		case 0:
			packet->data[at] ^= 1 << (value % 8);
			break;
		case 1:
			packet->data[at] = edges[value % ARRAY_SIZE(edges)];
			break;
		default:
			packet->data[at] = value;
		}
	}
}

/*
 * Applies the first rule that hits; a MAD is judged once, however often it is held. A mutation is
 * done on return. @ms: how long the packet, or its duplicate, is held.
 */
enum hca_verdict hca_rules_judge(struct hca_packet *packet, unsigned int *ms)
{
	enum hca_verdict verdict = HCA_PASS;
	struct rule *rule;

	*ms = 0;
	if (packet->judged)
		return HCA_PASS;
	packet->judged = true;
	mutex_lock(&rules_lock);
	list_for_each_entry(rule, &rules, entry) {
		if (!matches(rule, packet) || !hits(rule))
			continue;
		verdict = rule->verdict;
		*ms = rule->ms;
		if (verdict == HCA_MUTATE)
			mutate(rule, packet);
		break;
	}
	mutex_unlock(&rules_lock);
	return verdict;
}

static int parse_option(struct rule *rule, char *word)
{
	char *value = strchr(word, '=');
	u32 number;
	int ret;

	if (!value)
		return -EINVAL;
	*value++ = 0;
	ret = kstrtou32(value, 0, &number);
	if (ret)
		return ret;
	if (!strcmp(word, "percent"))
		rule->percent = number;
	else if (!strcmp(word, "ms"))
		rule->ms = number;
	else if (!strcmp(word, "skip"))
		rule->skip = number;
	else if (!strcmp(word, "count"))
		rule->left = number;
	else if (!strcmp(word, "from"))
		rule->from = number;
	else if (!strcmp(word, "to"))
		rule->to = number;
	else
		return -EINVAL;
	return 0;
}

static int parse_words(struct rule *rule, char *text)
{
	char *action = strsep(&text, " "), *attr = strsep(&text, " "), *word;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(verdicts); i++)
		if (!strcmp(action, verdicts[i].name))
			rule->verdict = verdicts[i].verdict;
	if (!rule->verdict || !attr)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		if (!strcmp(attr, attrs[i].name)) {
			rule->class = attrs[i].class;
			rule->attr = attrs[i].attr;
		}
	}
	if (!rule->class)
		return -EINVAL;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		ret = parse_option(rule, word);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Appends a rule, "ACTION ATTRIBUTE [percent=P] [ms=N] [skip=N] [count=N] [from=LID] [to=LID]";
 * @text is modified.
 */
int hca_rules_add(char *text)
{
	struct rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	int ret;

	if (!rule)
		return -ENOMEM;
	strscpy(rule->text, text, sizeof(rule->text));
	rule->percent = 100;
	rule->ms = DEFAULT_MS;
	rule->left = U32_MAX;
	ret = parse_words(rule, text);
	if (ret) {
		kfree(rule);
		return ret;
	}
	mutex_lock(&rules_lock);
	reseed(rule);
	list_add_tail(&rule->entry, &rules);
	mutex_unlock(&rules_lock);
	return 0;
}

void hca_rules_clear(void)
{
	struct rule *rule, *next;

	mutex_lock(&rules_lock);
	list_for_each_entry_safe(rule, next, &rules, entry)
		kfree(rule);
	INIT_LIST_HEAD(&rules);
	mutex_unlock(&rules_lock);
}

/* Sets the seed; all rules restart. */
void hca_rules_seed(u32 seed)
{
	struct rule *rule;

	mutex_lock(&rules_lock);
	seed_value = seed;
	list_for_each_entry(rule, &rules, entry)
		reseed(rule);
	mutex_unlock(&rules_lock);
}

void hca_rules_show(struct seq_file *file)
{
	struct rule *rule;

	mutex_lock(&rules_lock);
	seq_printf(file, "seed %u\n", seed_value);
	list_for_each_entry(rule, &rules, entry)
		seq_printf(file, "%s: matched %u hit %u %s\n", rule->text, rule->matched,
			   rule->hit, rule->history);
	mutex_unlock(&rules_lock);
}

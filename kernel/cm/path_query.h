/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Path queries: one for many ids that ask the same at the same time. */
#ifndef RCA_PATH_QUERY_H
#define RCA_PATH_QUERY_H

#include "cm/path_cache.h"
#include "id/id.h"

/**
 * struct rca_path_question - a path query of an id
 * @rec: path record
 * @mask: its component mask
 * @key: both for tables
 * @epoch: epoch of the device when the question was made
 */
struct rca_path_question {
	struct sa_path_rec rec;
	ib_sa_comp_mask mask;
	struct rca_path_key key;
	u32 epoch;
};

/**
 * typedef rca_path_done - called when a path query has ended
 * @id: the id, with its op mutex held; its path is set if @status is 0
 * @status: 0 or a negative errno
 * @post: argument of rca_path_query_start()
 */
typedef void (*rca_path_done)(struct rca_id *id, int status, bool post);

/**
 * struct rca_path_answer - the paths of an answer
 * @path: the path
 * @inbound: separate inbound path, if its flags are not 0
 * @outbound: separate outbound path, if its flags are not 0
 */
struct rca_path_answer {
	struct sa_path_rec path;
	struct sa_path_rec inbound;
	struct sa_path_rec outbound;
};

int rca_path_query_start(struct rca_id *id, const struct rca_path_question *question,
			 u32 timeout_ms, rca_path_done done, bool post);
void rca_path_query_cancel(struct rca_id *id);
int rca_path_query_init(void);
void rca_path_query_exit(void);

#endif /* RCA_PATH_QUERY_H */

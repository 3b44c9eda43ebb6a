/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_TOP_VIEW_H
#define TOOLS_CTL_TOP_VIEW_H

#include <stdio.h>

#include "tools/ctl/options.h"
#include "tools/ctl/sample.h"

/** top_order_name - description of an order; static storage. */
const char *top_order_name(enum top_order order);

/** struct top_view - size and order of a screen. .rows is 0: no limit. */
struct top_view {
	unsigned rows;
	enum top_order order;
	bool has_list; /* sessions are part of the samples */
};

/** top_view - write into @to, in lines, what happened between two samples. Sets the rates of
 * @now. */
void top_view(FILE *to, const struct top_view *v, const struct sample *before, struct sample *now);

#endif

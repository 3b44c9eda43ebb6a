/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CTL_TOP_VIEW_H
#define TOOLS_CTL_TOP_VIEW_H

#include <stdio.h>

#include "tools/ctl/sample.h"

enum top_order { TOP_CALLS, TOP_BYTES, TOP_FLIGHT, TOP_ORDERS };

/** top_order_name - in words; static storage. */
const char *top_order_name(enum top_order order);

/** struct top_view - what fits a screen; .rows 0: all of it. */
struct top_view {
	unsigned rows;
	enum top_order order;
	bool has_list; /* sessions were asked for */
};

/** top_view - what happened between two samples, in lines, into @to. Writes rates into @now. */
void top_view(FILE *to, const struct top_view *v, const struct sample *before, struct sample *now);

#endif

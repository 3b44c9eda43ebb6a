/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_METRICS_PAGE_H
#define DAEMON_METRICS_PAGE_H

#include "base/view.h"
#include "daemon/metrics/request.h"

/** page_of - the file of daemon/metrics/page that @target names; static storage. Empty for
 * HTTP_METRICS. */
struct view page_of(enum http_target target);

/** page_type - media type of the file that page_of() returns; static storage. */
const char *page_type(enum http_target target);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics/page.h"

/* A file of page/ with a NUL appended. */
#define FILE_OF(name, file)                                                                        \
	extern const char name[], name##_end[];                                                    \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" PAGE_FOLDER "/" file "\"\n" #name   \
		"_end:\n.byte 0\n.popsection\n")

FILE_OF(page_html, "index.html");
FILE_OF(page_css, "page.css");
FILE_OF(page_js, "page.js");

struct view page_of(enum http_target target)
{
	switch (target) {
	case HTTP_PAGE:
		return view_of(page_html, (size_t)(page_html_end - page_html));
	case HTTP_STYLE:
		return view_of(page_css, (size_t)(page_css_end - page_css));
	case HTTP_SCRIPT:
		return view_of(page_js, (size_t)(page_js_end - page_js));
	case HTTP_METRICS:
	case HTTP_TARGETS:
		break;
	}
	return view_of(NULL, 0);
}

const char *page_type(enum http_target target)
{
	static const char *const types[] = {[HTTP_METRICS] = "text/plain; charset=utf-8",
					    [HTTP_PAGE] = "text/html; charset=utf-8",
					    [HTTP_STYLE] = "text/css; charset=utf-8",
					    [HTTP_SCRIPT] = "text/javascript; charset=utf-8"};

	return types[target];
}

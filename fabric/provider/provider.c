/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/provider/provider.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/iwarp/iwarp.h"
#ifdef HAVE_VERBS
#include "fabric/verbs/verbs.h"
#endif

int provider_parse(const char *name, enum provider_kind *kind)
{
	if (strcmp(name, "iwarp") == 0)
		*kind = PROVIDER_IWARP;
	else if (strcmp(name, "verbs") == 0)
		*kind = PROVIDER_VERBS;
	else
		return ERR_CONFIG;
	return 0;
}

static struct fabric *new_iwarp(const struct provider_config *from, struct loop *loop)
{
	struct iwarp_config cfg;

	iwarp_config_default(&cfg);
	cfg.crc = from->crc;
	cfg.setup_timeout_ms = from->setup_timeout_ms;
	if (from->peer_timeout_ms)
		cfg.stall_timeout_ms = from->peer_timeout_ms;
	if (from->max_setups)
		cfg.max_setups = from->max_setups;
	cfg.descriptors = from->descriptors;
	if (from->turn_octets)
		cfg.turn_octets = from->turn_octets;
	return iwarp_new(&cfg, loop);
}

struct fabric_listener *provider_adopt(enum provider_kind kind, int fd)
{
	return kind == PROVIDER_IWARP ? iwarp_adopt(fd) : NULL;
}

int provider_listener_fd(enum provider_kind kind, const struct fabric_listener *l)
{
	return kind == PROVIDER_IWARP ? iwarp_listener_fd(l) : -1;
}

#ifdef HAVE_VERBS

int provider_check(enum provider_kind kind, char *why)
{
	_Static_assert((int)PROVIDER_WHY >= (int)VERBS_WHY, "words fit");
	return kind == PROVIDER_VERBS ? verbs_check(why) : 0;
}

struct fabric *provider_new(const struct provider_config *from, struct loop *loop)
{
	struct verbs_config cfg;

	_Static_assert((int)PROVIDER_RECEIVES_AUTO == (int)VERBS_RECEIVES_AUTO &&
			       (int)PROVIDER_RECEIVES_SHARED == (int)VERBS_RECEIVES_SHARED &&
			       (int)PROVIDER_RECEIVES_OWN == (int)VERBS_RECEIVES_OWN,
		       "one meaning");
	if (from->kind == PROVIDER_IWARP)
		return new_iwarp(from, loop);
	verbs_config_default(&cfg);
	cfg.setup_timeout_ms = from->setup_timeout_ms;
	if (from->peer_timeout_ms)
		cfg.idle_ms = from->peer_timeout_ms / 2;
	cfg.receives = (enum verbs_receives)from->receives;
	cfg.needs_windows = from->needs_windows;
	cfg.no_windows = from->no_windows;
	cfg.uses = from->uses;
	cfg.nuses = from->nuses;
	return verbs_new(&cfg, loop);
}

struct fabric_listener *provider_listen(enum provider_kind kind, const struct fabric_addr *addr,
					int *err)
{
	return kind == PROVIDER_VERBS ? verbs_listen(addr, err) : iwarp_listen(addr, err);
}

void provider_listener_addr(enum provider_kind kind, const struct fabric_listener *l,
			    struct fabric_addr *addr)
{
	if (kind == PROVIDER_VERBS)
		verbs_listener_addr(l, addr);
	else
		iwarp_listener_addr(l, addr);
}

void provider_listener_free(enum provider_kind kind, struct fabric_listener *l)
{
	if (kind == PROVIDER_VERBS)
		verbs_listener_free(l);
	else
		iwarp_listener_free(l);
}

#else

int provider_check(enum provider_kind kind, char *why)
{
	if (kind == PROVIDER_IWARP)
		return 0;
	snprintf(why, PROVIDER_WHY,
		 "verbs is not in this build (it needs libibverbs and "
		 "librdmacm): use iwarp, which needs no RDMA device");
	return ERR_CONFIG;
}

struct fabric *provider_new(const struct provider_config *from, struct loop *loop)
{
	return from->kind == PROVIDER_IWARP ? new_iwarp(from, loop) : NULL;
}

struct fabric_listener *provider_listen(enum provider_kind kind, const struct fabric_addr *addr,
					int *err)
{
	if (kind == PROVIDER_IWARP)
		return iwarp_listen(addr, err);
	*err = ERR_CONFIG;
	errno = EPROTONOSUPPORT;
	return NULL;
}

void provider_listener_addr(enum provider_kind kind, const struct fabric_listener *l,
			    struct fabric_addr *addr)
{
	(void)kind;
	iwarp_listener_addr(l, addr);
}

void provider_listener_free(enum provider_kind kind, struct fabric_listener *l)
{
	(void)kind;
	iwarp_listener_free(l);
}

#endif

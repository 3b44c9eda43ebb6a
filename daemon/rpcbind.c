/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/rpcbind.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <sys/time.h>
#include <unistd.h>

#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>

#include "base/log.h"
#include "fabric/addr.h"

enum { PROG_NFS = 100003, NFS_FIRST = 3, NFS_LAST = 4, TIMEOUT_S = 5 };

enum { NETID_BYTES = 8 };
static const char netids[RPCBIND_NETIDS][NETID_BYTES] = {"rdma", "rdma6"};

/* RFC 5665 5.2.3.3 and 5.2.3.4: the address, then the two octets of the port. Return: index of the
 * netid; -1: none. */
static int universal_address(const struct config_end *listen, char *text)
{
	struct fabric_addr addr;
	char host[INET6_ADDRSTRLEN];
	bool is_v6;
	const void *octets;

	if (fabric_addr_parse(listen->address, 0, &addr))
		return -1;
	is_v6 = addr.ss.ss_family == AF_INET6;
	octets = is_v6 ? (const void *)&((struct sockaddr_in6 *)&addr.ss)->sin6_addr
		       : (const void *)&((struct sockaddr_in *)&addr.ss)->sin_addr;
	inet_ntop(addr.ss.ss_family, octets, host, sizeof(host));
	snprintf(text, RPCBIND_ADDRESS_BYTES, "%s.%u.%u", host, listen->port >> 8,
		 listen->port & 0xff);
	return is_v6;
}

/* Connect to the local socket. There rpcbind knows the caller's user, and lets only the owner
 * remove a registration. Return: -1 with errno. */
static int connect_local(struct sockaddr_un *at)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), why;

	if (fd < 0)
		return -1;
	*at = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = _PATH_RPCBINDSOCK};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)at, sizeof(*at)) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* Return: NULL after a logged error. clnt_destroy() closes its socket. */
static CLIENT *open_local(void)
{
	struct sockaddr_un at;
	struct netbuf where = {.buf = &at, .len = sizeof(at), .maxlen = sizeof(at)};
	int fd = connect_local(&at);
	CLIENT *client = NULL;

	if (fd >= 0)
		client = clnt_vc_create(fd, &where, RPCBPROG, RPCBVERS4, 0, 0);
	if (!client) {
		log_warn("rpcbind.failed", "why=\"%s: %s\"", _PATH_RPCBINDSOCK,
			 fd < 0 ? strerror(errno) : "no memory");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	clnt_control(client, CLSET_FD_CLOSE, NULL);
	return client;
}

/* Call @procedure for one version of NFS. If rpcbind does not answer, *@client becomes NULL and no
 * further call is made. Return: whether rpcbind did it. */
static bool ask(CLIENT **client, rpcproc_t procedure, unsigned which, char *address,
		rpcvers_t version)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	/* no owner: rpcbind itself sees the caller's user */
	char netid[NETID_BYTES], nobody[] = "";
	struct rpcb entry = {.r_prog = PROG_NFS,
			     .r_vers = version,
			     .r_netid = netid,
			     .r_addr = address,
			     .r_owner = nobody};
	bool_t done = FALSE;

	memcpy(netid, netids[which], sizeof(netid));
	if (!*client)
		return false;
	if (clnt_call(*client, procedure, (xdrproc_t)xdr_rpcb, (char *)&entry, (xdrproc_t)xdr_bool,
		      (char *)&done, timeout) == RPC_SUCCESS)
		return done;
	clnt_destroy(*client);
	*client = NULL;
	return false;
}

static void unset(CLIENT **client, unsigned which, char *address)
{
	for (rpcvers_t v = NFS_FIRST; v <= NFS_LAST; v++)
		(void)ask(client, RPCBPROC_UNSET, which, address, v);
}

/* Both versions of NFS are registered, because clients find out which one the server speaks. If
 * another program has registered a version, nothing is registered, so that rpcbind_end() does not
 * remove that program's entry. */
static bool set(CLIENT **client, unsigned which, char *address)
{
	for (rpcvers_t v = NFS_FIRST; v <= NFS_LAST; v++) {
		if (ask(client, RPCBPROC_SET, which, address, v))
			continue;
		for (rpcvers_t done = NFS_FIRST; done < v; done++)
			(void)ask(client, RPCBPROC_UNSET, which, address, done);
		return false;
	}
	return true;
}

/* Register @want (RPCBIND_ADDRESS_BYTES), or nothing if it is empty, in place of what is
 * registered. */
static void update(struct rpcbind *r, unsigned which, const char *want)
{
	CLIENT *client = strcmp(r->at[which], want) != 0 ? open_local() : NULL;
	char *at = r->at[which];
	bool done = true;

	if (!client)
		return;
	if (*at)
		unset(&client, which, at);
	memcpy(at, want, RPCBIND_ADDRESS_BYTES);
	if (*at)
		done = set(&client, which, at);
	if (client && done)
		log_info("rpcbind", "netid=%s address=%s", netids[which], *at ? at : "none");
	else
		log_warn("rpcbind.failed", "netid=%s address=%s why=\"%s\"", netids[which], at,
			 client ? "refused: rpcinfo shows who has the registration"
				: "rpcbind does not answer");
	if (!done)
		at[0] = '\0';
	if (client)
		clnt_destroy(client);
}

void rpcbind_follow(struct rpcbind *r, const struct config *cfg)
{
	char want[RPCBIND_NETIDS][RPCBIND_ADDRESS_BYTES] = {{0}}, text[RPCBIND_ADDRESS_BYTES] = {0};

	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		const struct config_route *route = &cfg->routes[i];
		int which = -1;

		if (route->listener == i && route->listen.rpcbind)
			which = universal_address(&route->listen, text);
		if (which >= 0)
			memcpy(want[which], text, sizeof(text));
	}
	for (unsigned which = 0; which < RPCBIND_NETIDS; which++)
		update(r, which, want[which]);
}

void rpcbind_end(struct rpcbind *r)
{
	static const char none[RPCBIND_ADDRESS_BYTES];

	for (unsigned which = 0; which < RPCBIND_NETIDS; which++)
		update(r, which, none);
}

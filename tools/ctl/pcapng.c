/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/pcapng.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	OPT_COMMENT = 1,
	OPT_NAME = 2,
	OPT_PROGRAM = 4,
	OPT_RESOLUTION = 9,
	ETHERNET = 1,
};

enum {
	ETH_BYTES = 14,
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	ICRC_BYTES = 4
};
enum { DETH_BYTES = 8, MAD_BYTES = 256, MAD_HEAD = 24 };
/* Octets of a message in one frame: the length of UDP has 16 bits. */
enum { PIECE = 32 << 10, FRAME_BYTES = PIECE + 256, MESSAGE_BYTES = 128 << 10 };
enum { SEND_FIRST = 0, SEND_MIDDLE = 1, SEND_LAST = 2, SEND_ONLY = 4, UD_SEND_ONLY = 100 };
enum { CM_REQUEST = 0x10, CM_REPLY = 0x13, CM_READY = 0x14 };
enum {
	PORT_ROCE = 4791,
	PORT_FIRST = 49152,
	PORTS = 16384,
	PORT_NFS = 20049,
	QP_CM = 1,
	QP_FIRST = 0x100
};
enum {
	COMMENT = 160,
	ROOM_FIRST = 64,
	AROUND_BYTES = 4096 /* most octets of a set-up, and of the headers of a message */
};

/** struct pcapng_leg - one connection; its numbers (queue pairs, PSN) are invented. */
struct pcapng_leg {
	uint64_t key; /* 0: free */
	uint32_t number;
	uint32_t psn[2]; /* next PSN of the initiator, of the acceptor */
	bool is_ip6;
	/* of the initiator, of the acceptor; an IPv4 address is in the first 4 octets */
	uint8_t address[2][16];
};

static void put(uint8_t *p, unsigned octets, uint64_t value)
{
	while (octets--) {
		p[octets] = (uint8_t)value;
		value >>= 8;
	}
}

/* A block is in the byte order of this machine; the first word of the section says which. */
struct block {
	uint8_t *at;
	size_t len, size;
};

static void add(struct block *b, const void *octets, size_t len)
{
	static const uint8_t zeros[4];
	size_t pad = (4 - len % 4) % 4;

	if (len + pad > b->size - b->len) {
		b->size = 0; /* nothing fits any more */
		b->len = 0;
		return;
	}
	memcpy(b->at + b->len, octets, len);
	memcpy(b->at + b->len + len, zeros, pad);
	b->len += len + pad;
}

static void add_word(struct block *b, uint32_t word)
{
	add(b, &word, sizeof(word));
}

static void add_option(struct block *b, uint16_t code, const void *octets, size_t len)
{
	uint16_t head[2] = {code, (uint16_t)len};

	add(b, head, sizeof(head));
	if (len)
		add(b, octets, len);
}

/* Write the block of @type with the contents of @b, and its length at both ends. */
static enum pcapng_result write_block(struct pcapng *p, uint32_t type, const struct block *b)
{
	uint32_t head[2] = {type, (uint32_t)(b->len + 12)};

	if (b->size == 0)
		return PCAPNG_FAILED;
	if (head[1] > p->most - p->bytes)
		return PCAPNG_FULL;
	p->bytes += head[1];
	if (fwrite(head, sizeof(head), 1, p->to) != 1 || fwrite(b->at, b->len, 1, p->to) != 1 ||
	    fwrite(&head[1], sizeof(head[1]), 1, p->to) != 1)
		return PCAPNG_FAILED;
	return PCAPNG_OK;
}

static enum pcapng_result write_section(struct pcapng *p)
{
	static const char program[] = "rpcrdma-gwctl " GW_VERSION;
	static const uint16_t version[] = {1, 0};
	uint8_t octets[128];
	struct block b = {.at = octets, .size = sizeof(octets)};

	add_word(&b, 0x1a2b3c4d);
	add(&b, version, sizeof(version));
	add_word(&b, UINT32_MAX); /* section length unknown */
	add_word(&b, UINT32_MAX);
	add_option(&b, OPT_PROGRAM, program, strlen(program));
	add_option(&b, 0, NULL, 0);
	return write_block(p, BLOCK_SECTION, &b);
}

static enum pcapng_result write_interface(struct pcapng *p, const char *name)
{
	static const uint16_t link[] = {ETHERNET, 0};
	static const uint8_t nanoseconds = 9;
	uint8_t octets[128];
	struct block b = {.at = octets, .size = sizeof(octets)};

	add(&b, link, sizeof(link));
	add_word(&b, 0); /* no limit on the length of a frame */
	add_option(&b, OPT_NAME, name, strlen(name));
	add_option(&b, OPT_RESOLUTION, &nanoseconds, sizeof(nanoseconds));
	add_option(&b, 0, NULL, 0);
	return write_block(p, BLOCK_INTERFACE, &b);
}

static enum pcapng_result write_frame(struct pcapng *p, const struct pcapng_message *m, size_t len)
{
	static uint8_t octets[FRAME_BYTES + 512];
	struct block b = {.at = octets, .size = sizeof(octets)};
	char comment[COMMENT];
	int n = snprintf(comment, sizeof(comment), "session %llu, %s leg, route %.80s%s",
			 (unsigned long long)m->session, m->is_server_leg ? "server" : "client",
			 m->route, m->whole > m->len ? "; cut: the message is longer" : "");

	add_word(&b, m->is_server_leg);
	add_word(&b, (uint32_t)(m->time_ns >> 32));
	add_word(&b, (uint32_t)m->time_ns);
	add_word(&b, (uint32_t)len);
	add_word(&b, (uint32_t)len);
	add(&b, p->frame, len);
	add_option(&b, OPT_COMMENT, comment, (size_t)n);
	add_option(&b, 0, NULL, 0);
	return write_block(p, BLOCK_PACKET, &b);
}

/* RFC 1071. */
static uint16_t checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* Write Ethernet, IP, UDP and base transport header of a frame from end @from, with @len octets
 * behind them. Return: where the base transport header begins; *@total: octets of the frame. */
static uint8_t *begin_frame(struct pcapng *p, const struct pcapng_leg *leg, unsigned from,
			    size_t len, size_t *total)
{
	uint8_t *ip = p->frame + ETH_BYTES, *udp = ip + (leg->is_ip6 ? IP6_BYTES : IP4_BYTES);
	size_t udp_len = UDP_BYTES + BTH_BYTES + len + ICRC_BYTES;

	*total = (size_t)(udp - p->frame) + udp_len;
	memset(p->frame, 0, *total);
	put(p->frame, 6, 0x020000000002U - from);
	put(p->frame + 6, 6, 0x020000000001U + from);
	put(p->frame + 12, 2, leg->is_ip6 ? 0x86dd : 0x0800);
	if (leg->is_ip6) {
		put(ip, 4, 0x60000000);
		put(ip + 4, 2, udp_len);
		put(ip + 6, 2, IPPROTO_UDP << 8 | 64);
		memcpy(ip + 8, leg->address[from], 16);
		memcpy(ip + 24, leg->address[!from], 16);
	} else {
		put(ip, 2, 0x4500);
		put(ip + 2, 2, IP4_BYTES + udp_len);
		put(ip + 8, 2, 64 << 8 | IPPROTO_UDP);
		memcpy(ip + 12, leg->address[from], 4);
		memcpy(ip + 16, leg->address[!from], 4);
		put(ip + 10, 2, checksum(ip, IP4_BYTES));
	}
	put(udp, 2, PORT_FIRST + leg->number % PORTS);
	put(udp + 2, 2, PORT_ROCE);
	put(udp + 4, 2, udp_len);
	put(udp + UDP_BYTES + 2, 2, 0xffff); /* the default partition */
	return udp + UDP_BYTES;
}

static uint32_t queue_pair(const struct pcapng_leg *leg, unsigned end)
{
	return (QP_FIRST + 2 * leg->number + end) & 0xffffff;
}

/* InfiniBand connection management (IBTA 12.6): REQ, REP, RTU. */
static enum pcapng_result write_setup(struct pcapng *p, const struct pcapng_message *m,
				      const struct pcapng_leg *leg, unsigned from,
				      unsigned attribute)
{
	size_t total;
	uint8_t *bth = begin_frame(p, leg, from, DETH_BYTES + MAD_BYTES, &total);
	uint8_t *deth = bth + BTH_BYTES, *mad = deth + DETH_BYTES, *cm = mad + MAD_HEAD;

	bth[0] = UD_SEND_ONLY;
	put(bth + 5, 3, QP_CM);
	put(deth, 4, 0x80010000); /* queue key of the connection manager */
	put(deth + 5, 3, QP_CM);
	put(mad, 4, 0x01070203); /* connection management, version 2, Send */
	put(mad + 8, 8, leg->number + 1);
	put(mad + 16, 2, attribute);
	put(cm, 4, queue_pair(leg, from));
	if (attribute == CM_REQUEST) {
		put(cm + 8, 8, 0x01060000 | PORT_NFS);
		put(cm + 32, 3, queue_pair(leg, from));
		for (unsigned end = 0; end < 2; end++)
			if (leg->is_ip6) {
				memcpy(cm + 56 + 16 * end, leg->address[end], 16);
			} else {
				put(cm + 66 + 16 * end, 2, 0xffff);
				memcpy(cm + 68 + 16 * end, leg->address[end], 4);
			}
	} else {
		put(cm + 4, 4, queue_pair(leg, !from));
		put(cm + 12, 3, attribute == CM_REPLY ? queue_pair(leg, from) : 0);
	}
	return write_frame(p, m, total);
}

static enum pcapng_result write_piece(struct pcapng *p, const struct pcapng_message *m,
				      struct pcapng_leg *leg, unsigned from, size_t at)
{
	size_t len = m->len - at < PIECE ? m->len - at : PIECE, pad = (4 - len % 4) % 4, total;
	uint8_t *bth = begin_frame(p, leg, from, len + pad, &total);
	bool is_last = at + len == m->len && m->whole <= m->len;

	bth[0] = at == 0 ? (is_last ? SEND_ONLY : SEND_FIRST) : is_last ? SEND_LAST : SEND_MIDDLE;
	bth[1] = (uint8_t)(pad << 4);
	put(bth + 5, 3, queue_pair(leg, !from));
	put(bth + 9, 3, leg->psn[from]++);
	memcpy(bth + BTH_BYTES, m->octets + at, len);
	return write_frame(p, m, total);
}

/* --- legs ------------------------------------------------------------------- */

static struct pcapng_leg *find(struct pcapng *p, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15U >> 32) % p->room;

	while (p->legs[at].key && p->legs[at].key != key)
		at = (at + 1) % p->room;
	return &p->legs[at];
}

static bool make_room(struct pcapng *p)
{
	struct pcapng bigger = {.room = p->room ? 2 * p->room : ROOM_FIRST};

	if (p->room && p->nlegs < p->room / 2)
		return true;
	bigger.legs = mem_zalloc(bigger.room * sizeof(*bigger.legs));
	if (!bigger.legs)
		return false;
	for (size_t i = 0; i < p->room; i++)
		if (p->legs[i].key)
			*find(&bigger, p->legs[i].key) = p->legs[i];
	mem_free(p->legs);
	p->legs = bigger.legs;
	p->room = bigger.room;
	return true;
}

/* Parse "10.0.0.1:20049" or "[fe80::1%eth0]:20049". Return: whether it is IPv6; if it is no
 * address, @address is 0. */
static bool parse_address(const char *text, uint8_t address[16])
{
	bool is_ip6 = text[0] == '[';
	char host[INET6_ADDRSTRLEN];
	size_t len = strcspn(text + is_ip6, is_ip6 ? "%]" : ":");

	memset(address, 0, 16);
	if (len >= sizeof(host))
		return is_ip6;
	memcpy(host, text + is_ip6, len);
	host[len] = '\0';
	(void)inet_pton(is_ip6 ? AF_INET6 : AF_INET, host, address);
	return is_ip6;
}

/* The initiator of a client leg is the client; of a server leg it is the gateway. */
static enum pcapng_result begin_leg(struct pcapng *p, const struct pcapng_message *m,
				    struct pcapng_leg *leg)
{
	enum pcapng_result result;

	leg->number = (uint32_t)p->nlegs++;
	leg->is_ip6 = parse_address(m->peer, leg->address[m->is_server_leg]);
	(void)parse_address(m->local, leg->address[!m->is_server_leg]);
	result = write_setup(p, m, leg, 0, CM_REQUEST);
	if (result == PCAPNG_OK)
		result = write_setup(p, m, leg, 1, CM_REPLY);
	return result == PCAPNG_OK ? write_setup(p, m, leg, 0, CM_READY) : result;
}

bool pcapng_begin(struct pcapng *p, FILE *to, uint64_t most)
{
	*p = (struct pcapng){.to = to, .most = most, .frame = mem_zalloc(FRAME_BYTES)};
	return p->frame && make_room(p) && write_section(p) == PCAPNG_OK &&
	       write_interface(p, "client leg") == PCAPNG_OK &&
	       write_interface(p, "server leg") == PCAPNG_OK;
}

enum pcapng_result pcapng_add(struct pcapng *p, const struct pcapng_message *m)
{
	uint64_t key = m->session * 2 + m->is_server_leg;
	enum pcapng_result result = PCAPNG_OK;
	struct pcapng_leg *leg;

	if (m->len == 0 || m->len > MESSAGE_BYTES || !make_room(p))
		return PCAPNG_FAILED;
	/* a message is written whole or not at all */
	if (m->len + AROUND_BYTES > p->most - p->bytes)
		return PCAPNG_FULL;
	leg = find(p, key);
	if (!leg->key) {
		leg->key = key;
		result = begin_leg(p, m, leg);
	}
	for (size_t at = 0; at < m->len && result == PCAPNG_OK; at += PIECE)
		result = write_piece(p, m, leg, m->is_server_leg != m->is_sent, at);
	return result;
}

void pcapng_end(struct pcapng *p)
{
	mem_free(p->legs);
	mem_free(p->frame);
}

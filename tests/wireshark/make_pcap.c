/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * make_pcap [early-]roce|iwarp SPLIT BUNCH [VECTOR] [COPIES SEED] > file.pcap
 *
 * A capture of the messages of messages.h, or of a file of tests/hostauth/vectors, as they travel
 * on RoCE version 2 or on iWARP.
 * - Packets have at most SPLIT octets of a message (0: whole messages). On iWARP up to BUNCH of
 *   them share a TCP segment.
 * - With COPIES, that many damaged messages, the same for the same SEED.
 * - early-: messages of the early draft of version 2.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/wireshark/messages.h"

enum { FRAME_MAX = 65536, MTU_ROOM = 9000, IP_AT = 14, L4_AT = 34, MUTATIONS = 4 };
enum { TCP_SYN = 2, TCP_ACK = 16 };
enum { RC_FIRST = 0, RC_MIDDLE = 1, RC_LAST = 2, RC_ONLY = 4, RC_WRITE = 6, RETH = 16 };
enum { WRITE_HEAD = 12 }; /* of a "write" in messages.h: handle and offset */
enum { UD_ONLY = 100, CM_REQUEST = 0x10, CM_REPLY = 0x13, CM_READY = 0x14 };
enum { QP_CLIENT = 0x11, QP_SERVER = 0x12 };

enum { MESSAGES_MAX = 64 };

struct message {
	const char *hex;
	int from; /* 0: the client */
	bool writes;
};

/** struct maker - the capture being written; [0] is what the client sends. */
struct maker {
	struct message messages[MESSAGES_MAX];
	unsigned count;
	int roce;
	size_t split, bunch;
	uint32_t frames, tcp_seq[2], msn[2], psn[2];
	uint8_t bunched[FRAME_MAX]; /* FPDUs not written yet, of one direction */
	size_t bunched_len, bunched_count;
	int bunched_from;
	uint64_t random;
};

static void put(uint8_t *p, unsigned octets, uint64_t value)
{
	while (octets--) {
		p[octets] = (uint8_t)value;
		value >>= 8;
	}
}

static void write_out(const void *p, size_t len)
{
	if (fwrite(p, 1, len, stdout) != len)
		exit(1);
}

/* Host order in the file's own headers: the magic number says which. */
static void write_file_header(void)
{
	uint32_t h[6] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, FRAME_MAX, 1};

	write_out(h, sizeof(h));
}

/* Ethernet and IPv4 around the @len octets that begin at @frame + L4_AT. */
static void write_frame(struct maker *m, uint8_t *frame, int from, uint8_t proto, size_t len)
{
	uint32_t total = (uint32_t)(L4_AT + len);
	uint32_t rec[4] = {1600000000 + m->frames / 1000, m->frames % 1000 * 1000, total, total};

	m->frames++;
	memset(frame, 0, L4_AT);
	put(frame + 5, 1, from ? 1 : 2);
	put(frame + 11, 1, from ? 2 : 1);
	put(frame + 12, 2, 0x0800);
	put(frame + IP_AT, 2, 0x4500);
	put(frame + IP_AT + 2, 2, 20 + len);
	put(frame + IP_AT + 8, 2, 0x4000 | proto);
	put(frame + IP_AT + 12, 4, 0x0a000001U + (uint32_t)from);
	put(frame + IP_AT + 16, 4, 0x0a000002U - (uint32_t)from);
	write_out(rec, sizeof(rec));
	write_out(frame, total);
}

static void write_tcp(struct maker *m, int from, uint8_t flags, const uint8_t *data, size_t len)
{
	static uint8_t frame[FRAME_MAX];
	uint8_t *tcp = frame + L4_AT;

	put(tcp, 2, from ? 20049 : 40000);
	put(tcp + 2, 2, from ? 40000 : 20049);
	put(tcp + 4, 4, m->tcp_seq[from]);
	put(tcp + 8, 4, flags & TCP_ACK ? m->tcp_seq[!from] : 0);
	put(tcp + 12, 2, 0x5000U | flags);
	put(tcp + 14, 2, 0xffff);
	put(tcp + 16, 4, 0);
	if (len)
		memcpy(tcp + 20, data, len);
	write_frame(m, frame, from, 6, 20 + len);
	m->tcp_seq[from] += (uint32_t)len + (flags & TCP_SYN ? 1 : 0);
}

static void flush_bunch(struct maker *m)
{
	if (m->bunched_len)
		write_tcp(m, m->bunched_from, TCP_ACK, m->bunched, m->bunched_len);
	m->bunched_len = m->bunched_count = 0;
}

/* TCP's and MPA's handshakes: Wireshark knows an MPA stream by its first frames. */
static void open_iwarp(struct maker *m)
{
	static const uint8_t request[20] = "MPA ID Req Frame\0\1";
	static const uint8_t reply[20] = "MPA ID Rep Frame\0\1";

	write_tcp(m, 0, TCP_SYN, NULL, 0);
	write_tcp(m, 1, TCP_SYN | TCP_ACK, NULL, 0);
	write_tcp(m, 0, TCP_ACK, NULL, 0);
	write_tcp(m, 0, TCP_ACK, request, sizeof(request));
	write_tcp(m, 1, TCP_ACK, reply, sizeof(reply));
}

/* For one more FPDU, cleared, in this or the next TCP segment. */
static uint8_t *make_room(struct maker *m, int from, size_t size)
{
	uint8_t *f;

	if (m->bunched_from != from || m->bunched_count == m->bunch ||
	    m->bunched_len + size > MTU_ROOM)
		flush_bunch(m);
	f = m->bunched + m->bunched_len;
	memset(f, 0, size);
	m->bunched_from = from;
	m->bunched_len += size;
	m->bunched_count++;
	return f;
}

/* One DDP segment of an RDMAP Send, untagged, as an FPDU without CRC. */
static void add_fpdu(struct maker *m, int from, const uint8_t *p, size_t len, size_t offset,
		     int last)
{
	size_t size = (2 + 18 + len + 3) / 4 * 4 + 4;
	uint8_t *f = make_room(m, from, size);

	put(f, 2, 18 + len);
	put(f + 2, 2, last ? 0x4143 : 0x0143);
	put(f + 12, 4, m->msn[from]);
	put(f + 16, 4, offset);
	memcpy(f + 20, p, len);
}

/* Into @to, as an RDMA Write of its own DDP segment. */
static void add_write_fpdu(struct maker *m, int from, const uint8_t *to, size_t offset,
			   const uint8_t *p, size_t len, int last)
{
	size_t size = (2 + 14 + len + 3) / 4 * 4 + 4;
	uint8_t *f = make_room(m, from, size);

	put(f, 2, 14 + len);
	put(f + 2, 2, last ? 0xc140 : 0x8140);
	memcpy(f + 4, to, WRITE_HEAD);
	f[15] = (uint8_t)(f[15] + offset);
	memcpy(f + 16, p, len);
}

/* UDP's header and InfiniBand's base transport header of @len octets altogether, cleared. */
static uint8_t *begin_roce(uint8_t *frame, unsigned opcode, uint32_t qp, size_t len)
{
	uint8_t *udp = frame + L4_AT;

	memset(udp, 0, len);
	put(udp, 2, 49152);
	put(udp + 2, 2, 4791);
	put(udp + 4, 2, len);
	put(udp + 8, 1, opcode);
	put(udp + 10, 2, 0xffff);
	put(udp + 12, 4, qp);
	return udp;
}

/* One message of InfiniBand's connection manager: Wireshark knows the two queue pairs of a
 * connection by them. */
static void write_cm(struct maker *m, int from, unsigned attribute)
{
	static uint8_t frame[FRAME_MAX];
	size_t len = 8 + 12 + 8 + 256 + 4;
	uint8_t *mad = begin_roce(frame, UD_ONLY, 1, len) + 28, *cm = mad + 24;

	put(mad - 8, 4, 0x80010000); /* queue key */
	put(mad - 4, 4, 1);	     /* queue pair */
	put(mad, 4, 0x01070203);     /* version 1, connection management 2, Send */
	put(mad + 16, 2, attribute);
	put(cm, 4, from ? 0xb : 0xa); /* communication identifier, and the other's */
	if (attribute == CM_REQUEST) {
		put(cm + 8, 8, 0x01060000 | 20049); /* service */
		put(cm + 32, 3, QP_CLIENT);
		put(cm + 66, 6, 0xffff0a000001); /* addresses in IPv6's form */
		put(cm + 82, 6, 0xffff0a000002);
	} else {
		put(cm + 4, 4, from ? 0xa : 0xb);
		put(cm + 12, 3, attribute == CM_REPLY ? QP_SERVER : 0);
	}
	write_frame(m, frame, from, 17, len);
}

static void open_roce(struct maker *m)
{
	write_cm(m, 0, CM_REQUEST);
	write_cm(m, 1, CM_REPLY);
	write_cm(m, 0, CM_READY);
}

/* One packet of a Send over a reliable connection, or of a Write to @to; the ICRC is not right. */
static void write_roce(struct maker *m, int from, const uint8_t *to, const uint8_t *p, size_t len,
		       int first, int last)
{
	static uint8_t frame[FRAME_MAX];
	size_t pad = (4 - len % 4) % 4, reth = to && first ? RETH : 0;
	size_t total = 8 + 12 + reth + len + pad + 4;
	unsigned opcode = first ? (last ? RC_ONLY : RC_FIRST) : last ? RC_LAST : RC_MIDDLE;
	uint8_t *udp = begin_roce(frame, to ? opcode + RC_WRITE : opcode,
				  from ? QP_CLIENT : QP_SERVER, total);

	put(udp + 9, 1, pad << 4);
	put(udp + 16, 4, m->psn[from]++);
	if (reth) {
		memcpy(udp + 20, to + 4, 8);
		memcpy(udp + 28, to, 4);
	}
	memcpy(udp + 20 + reth, p, len);
	write_frame(m, frame, from, 17, total);
}

/* A Send, or a Write to @to. */
static void write_message(struct maker *m, int from, const uint8_t *to, const uint8_t *p,
			  size_t len)
{
	size_t at = 0;

	do {
		size_t n = m->split && len - at > m->split ? m->split : len - at;

		if (m->roce)
			write_roce(m, from, to, p + at, n, at == 0, at + n == len);
		else if (to)
			add_write_fpdu(m, from, to, at, p + at, n, at + n == len);
		else
			add_fpdu(m, from, p + at, n, at, at + n == len);
		at += n;
	} while (at < len);
	m->msn[from] += !to;
}

/* A server says errors, grants, replies and what it writes. */
static void add_goldens(struct maker *m, const struct golden *g, unsigned n)
{
	for (; n > 0; n--, g++)
		m->messages[m->count++] = (struct message){
			.hex = g->hex,
			.from = g->name[0] == 'e' || g->name[0] == 'g' || g->name[0] == 'r' ||
				g->name[0] == 'w',
			.writes = g->name[0] == 'w',
		};
}

/* Lines "i HEX" and "a HEX": what initiator and acceptor say. */
static void add_vector(struct maker *m, const char *path)
{
	static char lines[MESSAGES_MAX][2 * GOLDEN_MAX + 16];
	FILE *f = fopen(path, "r");

	if (!f)
		exit(1);
	while (m->count < MESSAGES_MAX && fgets(lines[m->count], sizeof(lines[0]), f)) {
		char *line = lines[m->count];

		line[strcspn(line, "\n")] = '\0';
		if (line[1] == ' ' && (line[0] == 'i' || line[0] == 'a'))
			m->messages[m->count++] =
				(struct message){.hex = line + 2, .from = line[0] == 'a'};
	}
	fclose(f);
}

static uint32_t draw(struct maker *m, size_t below)
{
	m->random = m->random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)((m->random >> 33) % below);
}

/* Words no peer should send, octets of noise, and an early end. Version and type mostly stay, so
 * that the dissector does not look away. */
static size_t damage(struct maker *m, uint8_t *p, size_t len)
{
	static const uint32_t words[] = {0,	     1,		 2,	    3,	     5,
					 16,	     0x48,	 0xffff,    0x10000, 0x7fffffff,
					 0x80000000, 0xfffffffc, 0xffffffff};
	unsigned count = 1 + draw(m, MUTATIONS);

	for (unsigned i = 0; i < count; i++) {
		size_t at = draw(m, len / 4) * 4;

		if ((at == 4 || at == 12) && draw(m, 8))
			continue;
		if (draw(m, 2))
			put(p + at, 4, words[draw(m, sizeof(words) / sizeof(words[0]))]);
		else
			p[at + draw(m, 4)] = (uint8_t)draw(m, 256);
	}
	return draw(m, 4) ? len : 1 + draw(m, len);
}

static void write_messages(struct maker *m, unsigned long copies)
{
	unsigned long count = copies ? copies : m->count;

	for (unsigned long i = 0; i < count; i++) {
		const struct message *it = &m->messages[i % m->count];
		uint8_t buf[GOLDEN_MAX];
		size_t len = unhex(it->hex, buf);

		if (copies)
			len = damage(m, buf, len);
		if (it->writes && len > WRITE_HEAD)
			write_message(m, it->from, buf, buf + WRITE_HEAD, len - WRITE_HEAD);
		else
			write_message(m, it->from, NULL, buf, len);
	}
	flush_bunch(m);
}

int main(int argc, char **argv)
{
	static struct maker m = {.tcp_seq = {1000, 2000}, .msn = {1, 1}, .psn = {0xfffffe, 7}};
	bool has_vector = argc == 5 || argc == 7, is_early;

	if (argc < 4 || argc > 7) {
		fprintf(stderr,
			"usage: make_pcap [early-]roce|iwarp SPLIT BUNCH [VECTOR] [COPIES SEED]\n");
		return 2;
	}
	is_early = !strncmp(argv[1], "early-", 6);
	m.roce = !strcmp(argv[1] + (is_early ? 6 : 0), "roce");
	m.split = strtoul(argv[2], NULL, 10);
	m.bunch = strtoul(argv[3], NULL, 10);
	m.random = argc >= 6 ? strtoull(argv[argc - 1], NULL, 10) : 0;
	if (has_vector) {
		add_vector(&m, argv[4]);
	} else if (is_early) {
		add_goldens(&m, early_messages, EARLY_MESSAGES);
		add_goldens(&m, early_rtr_messages, EARLY_RTR_MESSAGES);
	} else {
		add_goldens(&m, goldens, GOLDENS);
		add_goldens(&m, nfs_messages, NFS_MESSAGES);
		add_goldens(&m, rtr_messages, RTR_MESSAGES);
	}
	if (m.count == 0)
		return 1;
	write_file_header();
	if (m.roce)
		open_roce(&m);
	else
		open_iwarp(&m);
	write_messages(&m, argc >= 6 ? strtoul(argv[argc - 2], NULL, 10) : 0);
	return fflush(stdout) ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/mpa.h"

#include <string.h>

#include "base/min.h"
#include "fabric/iwarp/wire.h"

/*
 *  0                   1                   2                   3
 *  +---------------------------------------------------------------+
 *  |  Key (16 octets): "MPA ID Req Frame" or "MPA ID Rep Frame"     |
 *  +-+-+-+-+-------+---------------+-------------------------------+
 *  |M|C|R|S|  Res  |     Rev       |          PD_Length            |
 *  +-+-+-+-+-------+---------------+-------------------------------+
 *  |A|B|        IRD (14)           |C|D|        ORD (14)           |  S only, in PD_Length
 *  +-------------------------------+-------------------------------+
 *  |  Private data                                                  |
 */
enum { FLAG_M = 0x80, FLAG_C = 0x40, FLAG_R = 0x20, FLAG_S = 0x10 };
enum { CTRL_A = 0x8000, CTRL_B = 0x4000, CTRL_C = 0x8000, CTRL_D = 0x4000 };
enum { KEY_BYTES = 16, MPA_KEY_SHARED = 7 /* "MPA ID " begins both */ };

static const char keys[2][KEY_BYTES + 1] = {
	[MPA_REQUEST] = "MPA ID Req Frame",
	[MPA_REPLY] = "MPA ID Rep Frame",
};

int mpa_header_check(enum mpa_kind kind, const uint8_t header[MPA_HEADER_BYTES], size_t *body_len)
{
	if (memcmp(header, keys[kind], KEY_BYTES) != 0)
		return ERR_PROTO;
	if (header[17] < 1 || header[17] > 2)
		return ERR_VERS;
	*body_len = wire_get16(header + 18);
	return *body_len > MPA_PRIVATE_MAX ? ERR_TOOBIG : 0;
}

static void get_enhanced(const uint8_t *p, struct mpa_frame *frame)
{
	uint16_t ird = wire_get16(p), ord = wire_get16(p + 2);

	frame->peer_to_peer = ird & CTRL_A;
	frame->rtr =
		(uint8_t)((ird & CTRL_B ? MPA_RTR_SEND : 0) | (ord & CTRL_C ? MPA_RTR_WRITE : 0) |
			  (ord & CTRL_D ? MPA_RTR_READ : 0));
	frame->ird = ird & MPA_DEPTH_MAX;
	frame->ord = ord & MPA_DEPTH_MAX;
}

int mpa_decode(enum mpa_kind kind, struct view in, struct mpa_frame *frame)
{
	size_t body_len;
	uint8_t flags;
	int rc;

	if (in.len < MPA_HEADER_BYTES)
		return ERR_SHORT;
	rc = mpa_header_check(kind, in.data, &body_len);
	if (rc)
		return rc;
	if (in.len != MPA_HEADER_BYTES + body_len)
		return in.len < MPA_HEADER_BYTES + body_len ? ERR_SHORT : ERR_PROTO;
	flags = in.data[16];
	*frame = (struct mpa_frame){
		.markers = flags & FLAG_M,
		.crc = flags & FLAG_C,
		.reject = flags & FLAG_R,
		.revision = in.data[17],
		.private_data = view_of(in.data + MPA_HEADER_BYTES, body_len),
	};
	/* S is ignored before revision 2. A rejection may come without the enhanced octets. */
	frame->enhanced = frame->revision >= 2 && (flags & FLAG_S);
	if (!frame->enhanced)
		return 0;
	if (body_len < MPA_ENHANCED_BYTES) {
		frame->enhanced = false;
		return frame->reject ? 0 : ERR_SHORT;
	}
	get_enhanced(frame->private_data.data, frame);
	frame->private_data.data += MPA_ENHANCED_BYTES;
	frame->private_data.len -= MPA_ENHANCED_BYTES;
	return 0;
}

static void put_enhanced(uint8_t *p, const struct mpa_frame *frame)
{
	unsigned ird = frame->ird & MPA_DEPTH_MAX, ord = frame->ord & MPA_DEPTH_MAX;

	ird |= (frame->peer_to_peer ? CTRL_A : 0) | (frame->rtr & MPA_RTR_SEND ? CTRL_B : 0);
	ord |= (frame->rtr & MPA_RTR_WRITE ? CTRL_C : 0) | (frame->rtr & MPA_RTR_READ ? CTRL_D : 0);
	wire_put16(p, (uint16_t)ird);
	wire_put16(p + 2, (uint16_t)ord);
}

int mpa_encode(enum mpa_kind kind, const struct mpa_frame *frame, uint8_t *out, size_t cap)
{
	size_t extra = frame->enhanced ? MPA_ENHANCED_BYTES : 0;
	size_t body_len = extra + frame->private_data.len;

	if (body_len > MPA_PRIVATE_MAX || cap < MPA_HEADER_BYTES + body_len)
		return ERR_NOSPACE;
	memcpy(out, keys[kind], KEY_BYTES);
	out[16] = (uint8_t)((frame->markers ? FLAG_M : 0) | (frame->crc ? FLAG_C : 0) |
			    (frame->reject ? FLAG_R : 0) | (frame->enhanced ? FLAG_S : 0));
	out[17] = frame->revision;
	wire_put16(out + 18, (uint16_t)body_len);
	out += MPA_HEADER_BYTES;
	if (frame->enhanced)
		put_enhanced(out, frame);
	if (frame->private_data.len)
		memcpy(out + extra, frame->private_data.data, frame->private_data.len);
	return (int)(MPA_HEADER_BYTES + body_len);
}

void mpa_request(const struct mpa_local *local, struct view private_data, struct mpa_frame *request)
{
	*request = (struct mpa_frame){
		.crc = local->crc,
		.enhanced = true,
		.revision = 2,
		.ird = local->ird,
		.ord = local->ord,
		.private_data = private_data,
	};
}

/* Decision 157: only a set-up with S tells the IRD. A peer that serves fewer Reads at once than
 * this end issues would terminate the connection, and the next one as well. */
static uint16_t ord_of_no_ird(const struct mpa_local *local)
{
	return (uint16_t)min_u32(local->ord, 1);
}

/* RFC 6581 section 6.1: the responder picks one of the indications offered. A zero-length Write has
 * no side effects, so it is preferred, and it is proposed if none was offered. */
static enum mpa_rtr choose_rtr(const struct mpa_frame *request)
{
	if (!request->peer_to_peer)
		return MPA_RTR_NONE;
	if (request->rtr & MPA_RTR_WRITE)
		return MPA_RTR_WRITE;
	if (request->rtr & MPA_RTR_READ)
		return MPA_RTR_READ;
	return request->rtr & MPA_RTR_SEND ? MPA_RTR_SEND : MPA_RTR_WRITE;
}

void mpa_answer(const struct mpa_local *local, const struct mpa_frame *request,
		struct view private_data, struct mpa_frame *reply, struct mpa_agreed *agreed)
{
	*agreed = (struct mpa_agreed){
		.crc = local->crc || request->crc,
		.ird = local->ird,
		.ord = ord_of_no_ird(local),
		.peer_reads = !request->enhanced || request->ord > 0,
	};
	if (request->enhanced) {
		/*
		 * This end issues no more Reads than the initiator serves. The initiator's ORD may
		 * exceed this end's IRD: the reply announces what is served, and the initiator must
		 * lower its own.
		 */
		agreed->ord = (uint16_t)min_u32(local->ord, request->ird);
		agreed->rtr = choose_rtr(request);
	}
	*reply = (struct mpa_frame){
		.crc = agreed->crc,
		.enhanced = request->enhanced,
		.revision = request->revision,
		.peer_to_peer = request->enhanced && request->peer_to_peer,
		.rtr = (uint8_t)agreed->rtr,
		.ird = agreed->ird,
		.ord = agreed->ord,
		.private_data = private_data,
	};
}

int mpa_conclude(const struct mpa_local *local, const struct mpa_frame *reply,
		 struct mpa_agreed *agreed)
{
	if (reply->reject)
		return ERR_REJECTED;
	if (reply->markers) /* RFC 5044 section 7.1.1: M asks the receiver to send markers */
		return ERR_PROTO;
	*agreed = (struct mpa_agreed){
		.crc = local->crc || reply->crc,
		.ird = local->ird,
		.ord = ord_of_no_ird(local),
		.peer_reads = !reply->enhanced || reply->ord > 0,
	};
	if (!reply->enhanced)
		return 0;
	if (reply->ord > local->ird && reply->ord != MPA_DEPTH_MAX)
		return ERR_TOOBIG;
	agreed->ord = (uint16_t)min_u32(local->ord, reply->ird);
	return 0;
}

static bool begins_with(const uint8_t *in, size_t n, const char *text)
{
	size_t len = strlen(text);

	return n >= len && memcmp(in, text, len) == 0;
}

/* Whether @in begins as a TLS record of type alert or handshake, of version 3.x (RFC 8446 5.1). */
static bool is_tls(const uint8_t *in, size_t n)
{
	return n >= 3 && (in[0] == 21 || in[0] == 22) && in[1] == 3 && in[2] <= 4;
}

/* RFC 5531 9 and 11: the last fragment of a record, an XID, then CALL and RPC version 2, or
 * REPLY. */
static bool is_rpc(const uint8_t *in, size_t n)
{
	static const uint8_t call[] = {0, 0, 0, 0, 0, 0, 0, 2}, reply[] = {0, 0, 0, 1};

	return n >= 16 && (in[0] & 0x80) &&
	       (memcmp(in + 8, call, sizeof(call)) == 0 ||
		memcmp(in + 8, reply, sizeof(reply)) == 0);
}

static bool is_http(const uint8_t *in, size_t n)
{
	static const char *const words[] = {"HTTP/", "GET ",	 "HEAD ",    "POST ",
					    "PUT ",  "OPTIONS ", "CONNECT ", "PRI * HTTP/2"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins_with(in, n, words[i]))
			return true;
	return false;
}

const char *mpa_stranger(const uint8_t *in, size_t n)
{
	size_t most = n < MPA_KEY_SHARED ? n : MPA_KEY_SHARED;

	if (memcmp(in, keys[MPA_REQUEST], most) == 0)
		return NULL;
	if (is_tls(in, n))
		return "peer speaks TLS, not MPA";
	if (is_http(in, n))
		return "peer speaks HTTP, not MPA";
	if (is_rpc(in, n))
		return "peer speaks RPC over TCP, not RDMA (MPA)";
	if (begins_with(in, n, "SSH-"))
		return "peer speaks SSH, not MPA";
	return "peer speaks something else than MPA";
}

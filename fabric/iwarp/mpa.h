/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_IWARP_MPA_H
#define FABRIC_IWARP_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/**
 * mpa.h - MPA connection set-up: the Request and Reply frames (RFC 5044 section 7.1) with the
 * enhanced set-up of revision 2 (RFC 6581), and the settings on which both ends agree. Pure
 * functions; the caller moves the octets.
 */

enum {
	MPA_HEADER_BYTES = 20,	/* key, flags, revision, private data length */
	MPA_PRIVATE_MAX = 512,	/* RFC 5044 section 7.1.1, enhanced data included */
	MPA_ENHANCED_BYTES = 4, /* IRD and ORD in front of the private data */
	MPA_FRAME_MAX = MPA_HEADER_BYTES + MPA_PRIVATE_MAX,
	MPA_DEPTH_MAX = 0x3fff, /* IRD or ORD with this value is "not negotiated" */
};

enum mpa_kind { MPA_REQUEST, MPA_REPLY };

/* Ready-to-receive indications, RFC 6581 section 6.1. */
enum mpa_rtr { MPA_RTR_NONE = 0, MPA_RTR_SEND = 1, MPA_RTR_WRITE = 2, MPA_RTR_READ = 4 };

/** struct mpa_frame - one Request or Reply. */
struct mpa_frame {
	bool markers, crc, reject, enhanced;
	uint8_t revision;
	/* meaningful if .enhanced, up to .ord */
	bool peer_to_peer;
	uint8_t rtr; /* set of enum mpa_rtr */
	uint16_t ird, ord;
	struct view private_data; /* after the enhanced octets */
};

/** struct mpa_local - what this end offers. */
struct mpa_local {
	bool crc;
	uint16_t ird, ord;
};

/** struct mpa_agreed - the outcome, alike at both ends. */
struct mpa_agreed {
	bool crc;
	uint16_t ird, ord; /* most Reads that this end serves, issues at once */
	bool peer_reads;   /* the peer may issue Reads; true if it announced no ORD */
	enum mpa_rtr rtr;  /* first FPDU of the initiator; NONE: a message of its user */
};

/**
 * mpa_header_check - check @header, the first octets of a frame
 * @body_len: filled: octets of private data that follow
 *
 * Return: 0; ERR_PROTO for a wrong key, ERR_VERS for revision 0 or above 2,
 * ERR_TOOBIG for private data above the maximum.
 */
int mpa_header_check(enum mpa_kind kind, const uint8_t header[MPA_HEADER_BYTES],
		     size_t *body_len) WARN_UNUSED;

/**
 * mpa_decode - decode @in, which is exactly one frame; views of @frame point into @in
 * Return: 0, the codes of mpa_header_check(), ERR_SHORT when octets are missing,
 * ERR_PROTO when there are too many.
 */
int mpa_decode(enum mpa_kind kind, struct view in, struct mpa_frame *frame) WARN_UNUSED;

/** mpa_encode - write @frame to @out, which has @cap octets. Return: octets written, or
 * ERR_NOSPACE. */
int mpa_encode(enum mpa_kind kind, const struct mpa_frame *frame, uint8_t *out,
	       size_t cap) WARN_UNUSED;

/** mpa_request - fill @request with the initiator's Request: revision 2, enhanced, no markers.
 * @private_data is borrowed by @request. */
void mpa_request(const struct mpa_local *local, struct view private_data,
		 struct mpa_frame *request);

/**
 * mpa_answer - fill @reply with the acceptor's Reply to @request, and @agreed with what is agreed
 *
 * Revision 1 is answered with revision 1. The Reply never asks for markers, and rejects a Request
 * that does.
 */
void mpa_answer(const struct mpa_local *local, const struct mpa_frame *request,
		struct view private_data, struct mpa_frame *reply, struct mpa_agreed *agreed);

/**
 * mpa_conclude - at the initiator: fill @agreed from @reply
 *
 * Return: 0; ERR_REJECTED; ERR_PROTO: the peer wants markers; ERR_TOOBIG: the peer issues more
 * Reads at once than @local serves, and RFC 6581 wants a Terminate.
 */
int mpa_conclude(const struct mpa_local *local, const struct mpa_frame *reply,
		 struct mpa_agreed *agreed) WARN_UNUSED;

/**
 * mpa_stranger - the protocol of a peer whose first @n octets are @in, if it is not MPA
 *
 * Return: NULL: it may be MPA; otherwise the protocol in words for the log, static storage.
 */
const char *mpa_stranger(const uint8_t *in, size_t n);

#endif

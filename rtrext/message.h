/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RTREXT_MESSAGE_H
#define RTREXT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"
#include "xdr/cursor.h"

/**
 * The four messages of the round-trip extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-02, section 9;
 * docs/rtrext-profile.md, sections 3 to 6). The version's header in front of them is not handled
 * here; group.h handles their sequence.
 */

/* Hard maxima, checked before any arithmetic or copy. */
enum { RTR_MAX_ITEMS = 32, RTR_MAX_SETS = 32, RTR_MAX_SEGMENTS = 256, RTR_MAX_NUMBERS = 256 };

/* Types of option of the early draft; with RTR_HEADER_TYPES added, header types of draft -07. */
enum rtr_op { RTR_REQUEST = 5, RTR_RESPONSE = 6, RTR_CONTINUE = 7, RTR_REPORT = 8 };

#define RTR_HEADER_TYPES 0x52540000u

/* xmdp_type */
enum rtr_type {
	RTR_EXRW = 1,	  /* by explicit RDMA */
	RTR_TBSN = 2,	  /* in placement-targetable segments of Receives */
	RTR_CHOICE = 3,	  /* either, the responder chooses */
	RTR_BYSIZE = 4,	  /* either, by the length of the item */
	RTR_TOOSHORT = 5, /* the item was too short, and is in the payload stream */
	RTR_NOITEM = 6,	  /* there was no item */
};

/** struct rtr_place - where an item is, or is to go. */
struct rtr_place {
	enum rtr_type type;
	/* TBSN of an item: octets before the item in its first segment; BYSIZE: octets of the
	 * longest item that travels by Send */
	uint32_t bytes;
	/* TBSN of an item: range in .numbers of the message; other types with segments: range in
	 * .segs */
	uint16_t first, count;
};

/** struct rtr_item - an item that was removed from the payload stream (xmdp_mitem). */
struct rtr_item {
	uint32_t position; /* offset in the stream with all its items */
	uint32_t length;
	struct rtr_place place;
};

/** struct rtr_wish - direction for an item of the response (xmdp_rsditem). */
struct rtr_wish {
	uint32_t least; /* shorter items stay in the payload stream */
	struct rtr_place place;
};

/** struct rtr_set - directions for the items that result from a range of the request
 * (xmdp_rsdset). */
struct rtr_set {
	uint32_t begin, end; /* Positions of the request: from begin, before end */
	uint16_t first, count;
};

/** struct rtr_id - one transmission (xms_id). */
struct rtr_id {
	uint32_t xid;
	bool is_reply;
	uint32_t number; /* within its group; the first is 0 */
};

/* optr_err */
enum rtr_code {
	RTR_BAD_TYPE = 1,    /* OPTRERR_BADHMT: another header type was expected */
	RTR_BAD_OPTION = 2,  /* OPTRERR_BADOMT: another option was expected */
	RTR_BAD_CONT = 3,    /* OPTRERR_BADCONT: nothing was to be continued */
	RTR_BAD_NUMBER = 4,  /* OPTRERR_BADSEQ: another transmission was expected */
	RTR_BAD_XID = 5,     /* OPTRERR_BADXID: another XID was expected */
	RTR_BAD_OFFSET = 6,  /* OPTRERR_BADOFF */
	RTR_BAD_TARGET = 7,  /* OPTRERR_BADTBSN */
	RTR_BAD_PAYLOAD = 8, /* OPTRERR_BADPL */
};

/** struct rtr_fault - a fault to report (optr_info). */
struct rtr_fault {
	enum rtr_code code;
	uint32_t value;	   /* the value received; not used for BAD_CONT */
	uint32_t min, max; /* range of valid values; equal if there is one */
};

/** struct rtr_msg - any of the four messages, decoded. It owns nothing and has no pointers. */
struct rtr_msg {
	enum rtr_op op;
	uint32_t payload; /* all but REPORT: octets of payload stream in this transmission */

	/* REQUEST, RESPONSE */
	uint32_t count; /* transmissions of the group, this one among them */
	struct rtr_item items[RTR_MAX_ITEMS];
	unsigned nitems;

	/* REQUEST */
	uint32_t reserved; /* Receives reserved for the transmissions of the response */
	struct rtr_set sets[RTR_MAX_SETS];
	unsigned nsets;
	struct rtr_wish wishes[RTR_MAX_ITEMS]; /* of all sets, in order */
	unsigned nwishes;

	/* CONTINUE */
	uint32_t number; /* of this transmission; 1 or more */
	/* type of the group's first transmission: RTR_REQUEST or RTR_RESPONSE, in the version's
	 * numbering */
	uint32_t began;

	/* REPORT */
	/* .bad: the transmission at fault; .lead: an earlier one that may have caused it */
	struct rtr_id bad, lead;
	bool has_lead;
	struct rtr_fault fault;

	uint32_t numbers[RTR_MAX_NUMBERS]; /* of placement-targetable segments */
	unsigned nnumbers;
	struct segment segs[RTR_MAX_SEGMENTS];
	unsigned nsegs;
};

/** rtr_msg_reset - an empty message of kind @op; its tables are not touched. */
void rtr_msg_reset(struct rtr_msg *m, enum rtr_op op);

/**
 * rtr_decode - read a message of kind @op
 * @x: at its first word; afterwards behind its last one
 *
 * Malformed are: all that Table 1 of the draft calls invalid, of either kind; a count of
 * transmissions of 0; a range that is empty, or not after the range before it; a place that needs
 * segments and has none.
 * Return: 0; ERR_XDR; ERR_TOOBIG: more than the tables of struct rtr_msg hold.
 */
int rtr_decode(struct rtr_msg *m, enum rtr_op op, struct xdr_in *x) WARN_UNUSED;

/** rtr_encode - write @m; sticky failure of @x if there is no room. */
void rtr_encode(const struct rtr_msg *m, struct xdr_out *x);

/** rtr_len - octets that rtr_encode() writes. */
size_t rtr_len(const struct rtr_msg *m);

/** rtr_add_segment, rtr_add_number - append to the last place begun. Return: 0 or ERR_TOOBIG. */
int rtr_add_segment(struct rtr_msg *m, struct rtr_place *p, const struct segment *s) WARN_UNUSED;
int rtr_add_number(struct rtr_msg *m, struct rtr_place *p, uint32_t number) WARN_UNUSED;

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOSTAUTH_ROLE_H
#define HOSTAUTH_ROLE_H

/** Role of an end of the connection; the numbers are those of the profile's section 5. */
enum hostauth_role { HOSTAUTH_INITIATOR, HOSTAUTH_ACCEPTOR };

#endif

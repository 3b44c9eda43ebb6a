/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <errno.h>

#include "fabric/verbs/strings.h"

/* Every status of a completion, on either queue, has a cause in words, and a peer is blamed for
 * nothing that is ours. */
static void completions_have_words(void **state)
{
	(void)state;
	for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		for (int is_recv = 0; is_recv < 2; is_recv++) {
			const char *why = NULL;
			int err = strings_completion((enum ibv_wc_status)status, is_recv, &why);

			assert_int_equal(err == 0, status == IBV_WC_SUCCESS);
			assert_int_equal(why != NULL, status != IBV_WC_SUCCESS);
			if (!is_recv && err)
				assert_int_not_equal(err_class(err) == ERR_CLASS_PEER,
						     status != IBV_WC_BAD_RESP_ERR &&
							     status != IBV_WC_LOC_ACCESS_ERR);
		}
	}
}

static void breaches_are_the_peers(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(strings_completion(IBV_WC_LOC_LEN_ERR, true, &why), ERR_TOOBIG);
	assert_int_equal(strings_completion(IBV_WC_REM_INV_REQ_ERR, true, &why), ERR_ACCESS);
	assert_int_equal(strings_completion(IBV_WC_REM_ACCESS_ERR, false, &why), ERR_REMOTE);
	assert_int_equal(strings_completion(IBV_WC_RETRY_EXC_ERR, false, &why), ERR_TIMEOUT);
	assert_int_equal(strings_completion(IBV_WC_RNR_RETRY_EXC_ERR, false, &why), ERR_REMOTE);
	assert_int_equal(strings_async(IBV_EVENT_QP_ACCESS_ERR, &why), ERR_ACCESS);
	assert_int_equal(strings_async(IBV_EVENT_QP_REQ_ERR, &why), ERR_PROTO);
	assert_int_equal(strings_async(IBV_EVENT_QP_FATAL, &why), ERR_IO);
	assert_int_equal(strings_async(IBV_EVENT_CQ_ERR, &why), ERR_IO);
}

static void rejections(void **state)
{
	(void)state;
	for (int reason = -200; reason < 64; reason++) {
		for (int iwarp = 0; iwarp < 2; iwarp++) {
			const char *why = NULL;

			assert_true(strings_reject(iwarp, reason, &why) < 0);
			assert_non_null(why);
		}
	}
	const char *why;

	assert_int_equal(strings_reject(false, 8, &why), ERR_REFUSED);
	assert_int_equal(strings_reject(false, 28, &why), ERR_REJECTED);
	assert_int_equal(strings_reject(true, -ECONNREFUSED, &why), ERR_REFUSED);
}

/* A shortage of this machine is no verdict about the peer. */
static void shortages_are_ours(void **state)
{
	static const int ours[] = {EADDRNOTAVAIL, EADDRINUSE, EAGAIN, EMFILE, ENFILE,
				   ENOBUFS,	  ENOMEM,     ENOSPC, EPERM,  EACCES};
	const char *why;

	(void)state;
	for (unsigned i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			why = NULL;
			assert_int_equal(strings_setup(sign * ours[i], ERR_REFUSED, &why),
					 ERR_LOCAL);
			assert_non_null(why);
		}
}

/* An error that says what is wrong has words of its own; any other leaves the caller's words. */
static void errors_of_the_network_have_words(void **state)
{
	static const int known[] = {ECONNREFUSED, ECONNRESET,	ETIMEDOUT, ENETUNREACH,
				    ENETDOWN,	  EHOSTUNREACH, EHOSTDOWN};
	static const int others[] = {0, ENODEV, EINVAL, EIO, ENODATA, ENOSYS};
	const char *why;

	(void)state;
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		why = NULL;
		assert_int_equal(err_class(strings_setup(known[i], ERR_PROTO, &why)), ERR_CLASS_IO);
		assert_non_null(why);
	}
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++) {
		why = NULL;
		assert_int_equal(strings_setup(-others[i], ERR_REFUSED, &why), ERR_REFUSED);
		assert_null(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completions_have_words),
		cmocka_unit_test(breaches_are_the_peers),
		cmocka_unit_test(rejections),
		cmocka_unit_test(shortages_are_ours),
		cmocka_unit_test(errors_of_the_network_have_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

# SPDX-License-Identifier: BSD-2-Clause
"""All cases, in the order of the table."""
import cases_mpa  # noqa: F401
import cases_ddp  # noqa: F401
import cases_rdmap  # noqa: F401
import cases_pdata  # noqa: F401
import cases_v1  # noqa: F401
import cases_v1_flow  # noqa: F401
import cases_early  # noqa: F401
import cases_early_flow  # noqa: F401
import cases_rtr  # noqa: F401
import cases_rtr_props  # noqa: F401
import cases_v2  # noqa: F401
import cases_v2_flow  # noqa: F401
import cases_props  # noqa: F401
import cases_rpc  # noqa: F401
import cases_server_setup  # noqa: F401
import cases_server_rdma  # noqa: F401
import cases_server_v1  # noqa: F401
import cases_server_early  # noqa: F401
import cases_server_rtr  # noqa: F401
import cases_server_asked  # noqa: F401
import cases_server_v2  # noqa: F401
import cases_server_v2_flow  # noqa: F401
import cases_server_written  # noqa: F401

-- SPDX-License-Identifier: BSD-2-Clause
--
-- RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two-07, and the early
-- draft-cel-nfsv4-rpcrdma-version-two-01, which has the same version number) for Wireshark 4.0.
--
-- Operation. Two heuristic dissectors look at every RDMA payload: one on iWARP, one on InfiniBand and
-- RoCE. A payload is ours when it is a Send, its second word (version) is 2 and its fourth (header type)
-- one of the ten of section 6.3, or 0 or 1, which only the early draft has; everything else, version 1 above
-- all, is left to others. Types 4 and 5 mean different things in the two: what was seen first between two
-- ends decides, and a type 5 with a body, before anything else, is the early draft's. Sends of several
-- packets or segments are put together first. What the header says is shown field by field; the payload
-- stream of continued messages is put together (section 6.6.2) and handed on to Wireshark's own dissector
-- of RPC.
--
-- A Reply that travels in the Reply chunk is put together from the RDMA Writes before it: those to handles
-- that a Call offered as its Reply chunk are kept until then.
--
-- Octets that travel in other chunks are not in the message. A Read chunk's Position says where they belong,
-- so zeros of the same number stand there for them; a Write chunk's place is known to the upper layer
-- only, so zeros stand at the end: right for the usual READ and READLINK. A preference turns it off.
--
-- Host authentication (docs/hostauth-profile.md): the TLS records in property 6, put together over the messages
-- of a turn, are handed on to Wireshark's own dissector of TLS, which reads them with a key log file.
--
-- The round-trip extension (docs/rtrext-profile.md) is shown over both drafts. Data that came with a message stand where they
-- belong when there is one item and one transmission, for the message ends with it then; else zeros do.
--
-- Nothing is read without a look at what is left; every loop is bounded by the octets there are.

local rpcrdma2 = Proto("rpcrdma2", "RPC-over-RDMA version 2")
rpcrdma2.prefs.zeros = Pref.bool("Zeros for the octets of chunks", true,
	"Lets the dissectors of RPC and NFS see whole messages, with zeros in place of chunks")
rpcrdma2.prefs.sends = Pref.bool("Put iWARP Sends together here", true,
	"Turns Wireshark's own assembly off, which loses all but the first Send of a TCP segment")

local VERSION, PREFIX, SEGMENT = 2, 16, 16
local MAX_STREAM = 16 * 1024 * 1024 -- longest message put together
local MAX_OPEN = 1024 -- messages being put together at a time
local MAX_SHOWN = 1024 -- entries of one list shown; the rest is passed over

local types = {
	[4] = "RDMA2_ERROR", [5] = "RDMA2_GRANT",
	[6] = "RDMA2_CONNPROP_MIDDLE", [7] = "RDMA2_CONNPROP_FINAL",
	[8] = "RDMA2_CALL_EXTERNAL", [9] = "RDMA2_CALL_MIDDLE", [10] = "RDMA2_CALL_INLINE",
	[11] = "RDMA2_REPLY_EXTERNAL", [12] = "RDMA2_REPLY_MIDDLE", [13] = "RDMA2_REPLY_INLINE",
	[0x52540005] = "RDMA2_RTR_REQUEST", [0x52540006] = "RDMA2_RTR_RESPONSE",
	[0x52540007] = "RDMA2_RTR_CONTINUE", [0x52540008] = "RDMA2_RTR_REPORT",
}
local early_types = {
	[0] = "RDMA2_MSG", [1] = "RDMA2_NOMSG", [4] = "RDMA2_ERROR", [5] = "RDMA2_OPTIONAL",
}
local early_errors = {
	[1] = "RDMA2_ERR_VERS", [2] = "RDMA2_ERR_BAD_HEADER", [3] = "RDMA2_ERR_INVAL_OPTION",
}
local options = {
	[5] = "Transmit Request", [6] = "Transmit Response", [7] = "Transmit Continue", [8] = "Report Error",
}
local began = {
	[5] = "Transmit Request", [6] = "Transmit Response",
	[0x52540005] = "RDMA2_RTR_REQUEST", [0x52540006] = "RDMA2_RTR_RESPONSE",
}
local EXRW, TBSN, CHOICE, BYSIZE, TOOSHORT, NOITEM = 1, 2, 3, 4, 5, 6 -- of the round-trip extension
local places = {
	[EXRW] = "XMPTYPE_EXRW", [TBSN] = "XMPTYPE_TBSN", [CHOICE] = "XMPTYPE_CHOICE", [BYSIZE] = "XMPTYPE_BYSIZE",
	[TOOSHORT] = "XMPTYPE_TOOSHORT", [NOITEM] = "XMPTYPE_NOITEM",
}
local faults = {
	[1] = "OPTRERR_BADHMT", [2] = "OPTRERR_BADOMT", [3] = "OPTRERR_BADCONT", [4] = "OPTRERR_BADSEQ",
	[5] = "OPTRERR_BADXID", [6] = "OPTRERR_BADOFF", [7] = "OPTRERR_BADTBSN", [8] = "OPTRERR_BADPL",
}
local directions = { [0] = "CALL", [1] = "REPLY" }
local errors = {
	[1] = "RDMA2_ERR_VERS", [2] = "RDMA2_ERR_BAD_XDR", [3] = "RDMA2_ERR_BAD_PROPVAL",
	[4] = "RDMA2_ERR_INVAL_HTYPE", [5] = "RDMA2_ERR_INVAL_CONT", [6] = "RDMA2_ERR_READ_CHUNKS",
	[7] = "RDMA2_ERR_WRITE_CHUNKS", [8] = "RDMA2_ERR_SEGMENTS", [9] = "RDMA2_ERR_WRITE_RESOURCE",
	[10] = "RDMA2_ERR_REPLY_RESOURCE", [11] = "RDMA2_ERR_VERS_MISMATCH", [100] = "RDMA2_ERR_SYSTEM",
}
local properties = {
	[1] = "Maximum Send Size", [2] = "Receive Buffer Size", [3] = "Maximum Segment Size",
	[4] = "Maximum Segment Count", [5] = "Reverse-Direction Support",
	[6] = "Host Authentication Message",
	[0x52540003] = "RTR Support", [0x52540004] = "Receive Buffer Structure",
	[0x52540005] = "Request Transmission Receive Limit", [0x52540006] = "Response Transmission Send Limit",
}
local reverse = {
	[0] = "RDMA2_RVRSDIR_NONE", [1] = "RDMA2_RVRSDIR_SIMPLE",
	[2] = "RDMA2_RVRSDIR_CONT", [3] = "RDMA2_RVRSDIR_GENL",
}

local PROFILE, VALUE_HEAD, BINDING = 1, 4, 32 -- of host authentication
local MORE, TURN, BIND, FAIL = 1, 2, 4, 5
local kinds = { [1] = "MORE", [2] = "TURN", [3] = "ACK", [4] = "BIND", [5] = "FAIL" }
local reasons = {
	[1] = "the value, its sequence or its kind", [2] = "TLS", [3] = "the binding value",
	[4] = "the name", [5] = "a limit", [6] = "a failure of the sender's own",
}
local MAX_TURN = 256 * 1024 -- longest stretch of TLS records put together

local fields = {}
local function declare(kind, filter, ...)
	fields[#fields + 1] = ProtoField[kind]("rpcrdma2." .. filter, ...)
	return fields[#fields]
end
local function number(...)
	return declare("uint32", ...)
end
local function whole(...) -- with others below it
	return declare("none", ...)
end
local function frame(...)
	return declare("framenum", ...)
end

local f = {
	xid = number("xid", "XID", base.HEX),
	version = number("version", "Version"),
	credit = number("credit", "Credit"),
	type = number("type", "Header type", base.DEC, types),
	err = number("err", "Error", base.DEC, errors),
	early_type = number("early.type", "Header type", base.DEC, early_types),
	early_err = number("early.err", "Error", base.DEC, early_errors),
	early_direction = number("early.direction", "Direction", base.DEC, directions),
	early_opttype = number("early.opttype", "Option", base.DEC, options),
	early_optlength = number("early.optlength", "Length of its information"),
	early_optinfo = declare("bytes", "early.optinfo", "Information"),
	vers_low = number("vers_low", "Lowest version"),
	vers_high = number("vers_high", "Highest version"),
	max_chunks = number("max_chunks", "Most chunks"),
	max_segments = number("max_segments", "Most segments"),
	chunk_index = number("chunk_index", "Index of the chunk"),
	length_needed = number("length_needed", "Length needed"),
	prop_count = number("prop.count", "Properties"),
	prop = whole("prop", "Property"),
	prop_id = number("prop.id", "Identifier", base.DEC, properties),
	prop_length = number("prop.length", "Length"),
	prop_value = number("prop.value", "Value"),
	prop_reverse = number("prop.reverse", "Value", base.DEC, reverse),
	prop_data = declare("bytes", "prop.data", "Value"),
	hostauth = whole("hostauth", "Host authentication"),
	hostauth_profile = declare("uint8", "hostauth.profile", "Profile"),
	hostauth_kind = declare("uint8", "hostauth.kind", "Kind", base.DEC, kinds),
	hostauth_sequence = declare("uint16", "hostauth.sequence", "Sequence"),
	hostauth_binding = declare("bytes", "hostauth.binding", "Binding value"),
	hostauth_reason = declare("uint16", "hostauth.reason", "Reason", base.DEC, reasons),
	hostauth_tls = whole("hostauth.tls", "TLS records"),
	hostauth_in = frame("hostauth.in", "Whole turn in frame"),
	rtr_takes = number("rtr.takes", "Value", base.HEX),
	rtr_takes_request = declare("bool", "rtr.takes.request", "Requests", 32, nil, 1),
	rtr_takes_response = declare("bool", "rtr.takes.response", "Responses", 32, nil, 2),
	rtr_takes_continue = declare("bool", "rtr.takes.continue", "Continues", 32, nil, 4),
	rtr_structure = whole("rtr.structure", "Structure"),
	rtr_structure_length = number("rtr.structure.length", "Length of a Receive"),
	rtr_structure_groups = number("rtr.structure.groups", "Groups"),
	rtr_structure_group = whole("rtr.structure.group", "Group"),
	rtr_structure_count = number("rtr.structure.count", "Segments"),
	rtr_structure_size = number("rtr.structure.size", "Length of each"),
	rtr_structure_align = number("rtr.structure.align", "Alignment"),
	rtr_structure_flags = number("rtr.structure.flags", "Flags", base.HEX),
	rtr_structure_target = declare("bool", "rtr.structure.target", "Placement-targetable", 32, nil, 1),
	rtr_items = number("rtr.items", "Items"),
	rtr_item = whole("rtr.item", "Item"),
	rtr_place = number("rtr.place", "Type", base.DEC, places),
	rtr_offset = number("rtr.offset", "Offset in the first segment"),
	rtr_number_count = number("rtr.number_count", "Segments of Receives"),
	rtr_number = number("rtr.number", "Segment"),
	rtr_sets = number("rtr.sets", "Sets of directions"),
	rtr_set = whole("rtr.set", "Set"),
	rtr_begin = number("rtr.begin", "From Position"),
	rtr_end = number("rtr.end", "Before Position"),
	rtr_wishes = number("rtr.wishes", "Directions"),
	rtr_wish = whole("rtr.wish", "Direction"),
	rtr_least = number("rtr.least", "Least length"),
	rtr_longest = number("rtr.longest", "Longest by Send"),
	rtr_count = number("rtr.count", "Transmissions"),
	rtr_reserved = number("rtr.reserved", "Receives kept for the response"),
	rtr_payload = number("rtr.payload", "Octets of payload stream"),
	rtr_transmission = number("rtr.transmission", "Transmission"),
	rtr_began = number("rtr.began", "Begun as", base.DEC, began),
	rtr_bad = whole("rtr.bad", "About"),
	rtr_lead = whole("rtr.lead", "Led to by"),
	rtr_xid = number("rtr.xid", "XID", base.HEX),
	rtr_direction = number("rtr.direction", "Direction", base.DEC, directions),
	rtr_fault = number("rtr.fault", "Error", base.DEC, faults),
	rtr_expected = number("rtr.expected", "Expected"),
	rtr_current = number("rtr.current", "Current"),
	rtr_value = number("rtr.value", "Value"),
	rtr_min = number("rtr.min", "Least that would do"),
	rtr_max = number("rtr.max", "Most that would do"),
	rtr_data = whole("rtr.data", "Padding and data"),
	inv_handle = number("inv_handle", "Handle to invalidate", base.HEX),
	remaining = number("remaining", "Remaining octets"),
	call_chunk = whole("call_chunk", "Call chunk"),
	reads = whole("reads", "Read list"),
	writes = whole("writes", "Write list"),
	chunk = whole("chunk", "Chunk"),
	reply_chunk = whole("reply_chunk", "Reply chunk"),
	segment_count = number("segment_count", "Segments"),
	segment = whole("segment", "Segment"),
	position = number("position", "Position"),
	handle = number("handle", "Handle", base.HEX),
	length = number("length", "Length"),
	offset = declare("uint64", "offset", "Offset", base.HEX),
	payload = whole("payload", "Payload stream"),
	stream_at = number("stream.offset", "Octets before"),
	stream_length = number("stream.length", "Length of the whole"),
	stream_in = frame("stream.in", "Whole in frame"),
	stream_from = frame("stream.from", "Part in frame"),
	send_in = frame("send.in", "Whole message in frame"),
}
rpcrdma2.fields = fields

local experts = {}
local function problem(name, ...)
	experts[#experts + 1] = ProtoExpert.new("rpcrdma2.bad." .. name, ...)
	return experts[#experts]
end
local MALFORMED, PROTOCOL = expert.group.MALFORMED, expert.group.PROTOCOL
local ERROR, WARN = expert.severity.ERROR, expert.severity.WARN
local bad = {
	short = problem("short", "The header ends early", MALFORMED, ERROR),
	count = problem("count", "A count exceeds the octets that are left", MALFORMED, ERROR),
	bool = problem("bool", "Neither 0 nor 1 tells whether an entry follows", MALFORMED, ERROR),
	value = problem("value", "A property's length does not fit its type", MALFORMED, ERROR),
	hostauth = problem("hostauth", "The value is not what profile 1 allows", MALFORMED, ERROR),
	position = problem("position", "Position not allowed here", PROTOCOL, WARN),
	tail = problem("tail", "Octets after the end of the header", PROTOCOL, WARN),
	place = problem("place", "A type that may not be here", MALFORMED, ERROR),
	fault = problem("fault", "An error that there is not", MALFORMED, ERROR),
	direction = problem("direction", "Neither CALL nor REPLY", MALFORMED, ERROR),
	cont = problem("cont", "Remaining octets do not agree with the message before", PROTOCOL, WARN),
	xid = problem("xid", "The payload stream does not begin with the XID", PROTOCOL, WARN),
	upper = problem("upper", "The dissector of RPC gave up", PROTOCOL, expert.severity.NOTE),
}
rpcrdma2.experts = experts

-- What lower layers know of the message; the last of a name in the frame is the current one.
local lower = {
	opcode = Field.new("iwarp_rdma.opcode"),
	ddp_last = Field.new("iwarp_ddp.last_flag"),
	ddp_msn = Field.new("iwarp_ddp.msn"),
	ddp_mo = Field.new("iwarp_ddp.mo"),
	ddp_stag = Field.new("iwarp_ddp.stag"),
	ddp_to = Field.new("iwarp_ddp.tagged_offset"),
	reth_key = Field.new("infiniband.reth.r_key"),
	reth_va = Field.new("infiniband.reth.va"),
	bth_opcode = Field.new("infiniband.bth.opcode"),
	bth_qp = Field.new("infiniband.bth.destqp"),
	bth_psn = Field.new("infiniband.bth.psn"),
}

local function lower_value(name)
	local all = { lower[name]() }
	local last = all[#all]
	return last and last.value
end

-- Wireshark's own assembly of iWARP Sends knows one Send a frame and drops the others.
local THEIR_SENDS = "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send"

local rpc, data, tls = Dissector.get("rpc"), Dissector.get("data"), Dissector.get("tls")

-- State of a capture; made by the first pass over it, in order, looked up by later ones.
local streams, open_streams -- continued messages under way, by flow and XID
local parts -- what the first pass found out of a continued message's part
local wanted, wanted_count, wanted_size -- Reply chunks on offer, and what was written into them
local offers -- messages that were looked at for them
local writing -- RDMA Writes of several packets under way
local external -- messages that came through Reply chunks
local turns, open_turns, turned -- TLS records under way, by flow; what the first pass found out of a value
local sends, sent -- Sends of several packets under way, and what frames hold of them
local dialects -- true: the early draft is spoken between these two; false: -07 is

local function forget()
	streams, open_streams, parts = {}, 0, {}
	wanted, wanted_count, wanted_size = {}, 0, 0
	offers, writing, external = {}, {}, {}
	turns, open_turns, turned = {}, 0, {}
	sends, sent, dialects = {}, {}, {}
	if rpcrdma2.prefs.sends and get_preference(THEIR_SENDS) then
		set_preference(THEIR_SENDS, false)
	end
end
rpcrdma2.init = forget

-- A reader: the cursor over a header. After the first failure it reads nothing more.
local function fail(r, tree, what)
	if r.ok then
		tree:add_proto_expert_info(what)
	end
	r.ok = false
end

local function left(r)
	return r.tvb:len() - r.at
end

local function need(r, tree, n)
	if r.ok and left(r) < n then
		fail(r, tree, bad.short)
	end
	return r.ok
end

-- The next word as @field of @tree; nil when there is none.
local function word(r, tree, field)
	if not need(r, tree, 4) then
		return nil
	end
	local range = r.tvb(r.at, 4)
	local item = tree:add(field, range)
	r.at = r.at + 4
	return range:uint(), item
end

-- XDR's "does one more follow?"
local function follows(r, tree)
	if not need(r, tree, 4) then
		return false
	end
	local value = r.tvb(r.at, 4):uint()
	r.at = r.at + 4
	if value > 1 then
		fail(r, tree, bad.bool)
	end
	return r.ok and value == 1
end

local function group(r, tree, field)
	return { item = tree:add(field, r.tvb(r.at, 0)), start = r.at }
end

local function close(r, g, text)
	g.item:set_len(r.at - g.start)
	g.item:append_text(text)
end

-- A segment, with the Position before it in a Read list. Returns length, Position, its item, and where
-- it is.
local function segment(r, tree, with_position, shown)
	local size = with_position and SEGMENT + 4 or SEGMENT
	if not need(r, tree, size) then
		return nil
	end
	local at, position, item = r.at, nil, nil
	local body = with_position and at + 4 or at
	local length = r.tvb(body + 4, 4):uint()
	r.at = at + size
	if with_position then
		position = r.tvb(at, 4):uint()
	end
	if shown then
		item = tree:add(f.segment, r.tvb(at, size))
		item:append_text(string.format(": handle 0x%08x, %u octets", r.tvb(body, 4):uint(), length))
		if with_position then
			item:add(f.position, r.tvb(at, 4))
		end
		item:add(f.handle, r.tvb(body, 4))
		item:add(f.length, r.tvb(body + 4, 4))
		item:add(f.offset, r.tvb(body + 8, 8))
	end
	local place = { handle = r.tvb(body, 4):uint(), at = r.tvb(body + 8, 8):uint64(), length = length }
	return length, position, item or tree, place
end

-- A list of Read segments: the Read list, or the Call chunk (every Position zero, section 6.6.3). In the
-- early draft the one is part of the other, and any order will do: @is_call_chunk nil.
local function read_list(r, tree, field, is_call_chunk)
	local g, list, last, octets = group(r, tree, field), {}, 0, 0
	while follows(r, g.item) do
		local length, position, item = segment(r, g.item, true, #list < MAX_SHOWN)
		if not length then
			break
		end
		local zero, strict = position == 0, is_call_chunk ~= nil
		if strict and (zero ~= is_call_chunk or position < last) or position % 4 ~= 0 then
			item:add_proto_expert_info(bad.position)
		end
		last, octets = position, octets + length
		list[#list + 1] = { position = position, length = length }
	end
	close(r, g, string.format(": %u segments, %u octets", #list, octets))
	return list, octets
end

-- A count, which is no more than what is left has room for: entries of @size octets.
local function counted(r, tree, field, size)
	local count = word(r, tree, field)
	if count and count > left(r) / size then
		fail(r, tree, bad.count)
	end
	return r.ok and count or 0, count
end

local function segments(r, tree)
	local octets, list = 0, {}
	local count, said = counted(r, tree, f.segment_count, SEGMENT)
	for i = 1, count do
		local length, _, _, place = segment(r, tree, false, i <= MAX_SHOWN)
		octets, list[i] = octets + length, place
	end
	return octets, list, said or 0
end

local function write_chunk(r, tree, field)
	local g = group(r, tree, field)
	local octets, list, count = segments(r, g.item)
	close(r, g, string.format(": %u segments, %u octets", count, octets))
	return octets, list
end

local function write_list(r, tree)
	local g, count, octets = group(r, tree, f.writes), 0, 0
	while follows(r, g.item) do
		octets = octets + write_chunk(r, g.item, f.chunk)
		count = count + 1
	end
	close(r, g, string.format(": %u chunks, %u octets", count, octets))
	return octets
end

local function reply_chunk(r, tree)
	if follows(r, tree) then
		return write_chunk(r, tree, f.reply_chunk)
	end
	return nil
end

-- Header types, section 8.4: each reads what follows the prefix, and returns what it says of the payload.
local layout = {}

local error_words = {
	[1] = { f.vers_low, f.vers_high }, [6] = { f.max_chunks }, [7] = { f.max_chunks },
	[8] = { f.max_segments }, [9] = { f.chunk_index, f.length_needed }, [10] = { f.length_needed },
}

layout[4] = function(r, tree)
	local code = word(r, tree, f.err)
	for _, field in ipairs(error_words[code] or {}) do
		word(r, tree, field)
	end
	return { info = errors[code] or "unknown error" }
end

layout[5] = function()
	return {}
end

-- Property 6 as profile 1 has it: the parts of its value. Returns what of it is TLS records; nil when it is of
-- another profile, or none.
local function hostauth_value(range, item)
	if range:len() < 4 + VALUE_HEAD or range(4, 1):uint() ~= PROFILE then
		return nil
	end
	local length = range(0, 4):uint()
	local kind = range(5, 1):uint()
	local head = VALUE_HEAD + (kind == BIND and BINDING or kind == FAIL and 2 or 0)
	local tree = item:add(f.hostauth, range)
	tree:append_text(": " .. (kinds[kind] or "unknown kind"))
	tree:add(f.hostauth_profile, range(4, 1))
	tree:add(f.hostauth_kind, range(5, 1))
	tree:add(f.hostauth_sequence, range(6, 2))
	if length > range:len() - 4 or length < head or not kinds[kind] then
		tree:add_proto_expert_info(bad.hostauth)
		return nil
	end
	if kind == BIND then
		tree:add(f.hostauth_binding, range(8, BINDING))
	elseif kind == FAIL then
		tree:add(f.hostauth_reason, range(8, 2))
	end
	local octets = length - head
	if octets == 0 then
		return nil
	end
	local sub = tree:add(f.hostauth_tls, range(4 + head, octets))
	sub:append_text(string.format(": %u octets", octets))
	return { kind = kind, item = sub, range = range(4 + head, octets) }
end

-- Receive Buffer Structure: what its octets say as far as they go.
local function structure_value(range, item)
	local r = { tvb = range:tvb(), at = 0, ok = true }
	local tree = item:add(f.rtr_structure, range)
	word(r, tree, f.rtr_structure_length)
	for _ = 1, counted(r, tree, f.rtr_structure_groups, 16) do
		local g = group(r, tree, f.rtr_structure_group)
		local count = word(r, g.item, f.rtr_structure_count)
		local size = word(r, g.item, f.rtr_structure_size)
		word(r, g.item, f.rtr_structure_align)
		local at = r.at
		word(r, g.item, f.rtr_structure_flags)
		g.item:add(f.rtr_structure_target, r.tvb(at, 4))
		close(r, g, string.format(": %u of %u octets", count, size))
	end
	if r.ok and left(r) > 0 then
		tree:add_proto_expert_info(bad.tail)
	end
end

-- How the values of properties are shown; NUMBERS are one word.
local value_fields = {
	[1] = f.prop_value, [2] = f.prop_value, [3] = f.prop_value, [4] = f.prop_value, [5] = f.prop_reverse,
	[0x52540003] = f.rtr_takes, [0x52540005] = f.prop_value, [0x52540006] = f.prop_value,
}

local function property_value(r, id, range, item)
	if id == 6 then
		r.hostauth = hostauth_value(range, item)
	elseif id == 0x52540004 then
		structure_value(range, item)
	elseif id == 0x52540003 and range:len() == 4 then
		item:add(f.rtr_takes_request, range)
		item:add(f.rtr_takes_response, range)
		item:add(f.rtr_takes_continue, range)
	end
end

local function property(r, tree)
	local g = group(r, tree, f.prop)
	local id = word(r, g.item, f.prop_id)
	local length = word(r, g.item, f.prop_length)
	if length and length > left(r) then
		fail(r, g.item, bad.count)
	end
	if r.ok and length > 0 then
		local field = value_fields[id] or f.prop_data
		if field ~= f.prop_data and length ~= 4 then
			g.item:add_proto_expert_info(bad.value)
			field = f.prop_data
		end
		local item = g.item:add(field, r.tvb(r.at, length))
		property_value(r, id, r.tvb(r.at, length), item)
		r.at = math.min(r.at + length + -length % 4, r.tvb:len())
	end
	close(r, g, ": " .. (properties[id] or "unknown") .. (length == 0 and ", the default" or ""))
end

layout[6] = function(r, tree)
	local count = word(r, tree, f.prop_count)
	if count and count > left(r) / 8 then
		fail(r, tree, bad.count)
	end
	for _ = 1, r.ok and count or 0 do
		if not r.ok then
			break
		end
		property(r, tree)
	end
	return { info = string.format("%u properties", count or 0) }
end
layout[7] = layout[6]

layout[8] = function(r, tree)
	word(r, tree, f.inv_handle)
	local _, octets = read_list(r, tree, f.call_chunk, true)
	read_list(r, tree, f.reads, false)
	write_list(r, tree)
	local _, offered = reply_chunk(r, tree)
	return { offered = offered, info = string.format("%u octets in the Call chunk", octets) }
end

layout[9] = function(r, tree)
	local remaining = word(r, tree, f.remaining)
	return { payload = true, remaining = remaining, info = string.format("%u octets remain", remaining or 0) }
end
layout[12] = layout[9]

layout[10] = function(r, tree)
	word(r, tree, f.inv_handle)
	local reads = read_list(r, tree, f.reads, false)
	write_list(r, tree)
	local _, offered = reply_chunk(r, tree)
	return { payload = true, reads = reads, offered = offered }
end

layout[11] = function(r, tree)
	local written = write_list(r, tree)
	local octets, returned = reply_chunk(r, tree)
	local info = string.format("%u octets in the Reply chunk", octets or 0)
	return { written = written, returned = returned, info = info }
end

layout[13] = function(r, tree)
	return { payload = true, written = write_list(r, tree) }
end

-- The round-trip extension, section 10.2 of its draft: its four messages, whatever carries them.
local rtr_layout = {}

-- One item of a message, or one direction for a response (@is_wish). Returns its type and its Position or least
-- length, the length of an item, and segments of a direction.
local function rtr_place(r, tree, is_wish, is_response)
	local g = group(r, tree, is_wish and f.rtr_wish or f.rtr_item)
	local position = word(r, g.item, is_wish and f.rtr_least or f.position)
	local length = not is_wish and word(r, g.item, f.length) or nil
	local kind, item = word(r, g.item, f.rtr_place)
	local result = kind == TOOSHORT or kind == NOITEM
	local direction, list, text = kind == CHOICE or kind == BYSIZE, nil, ""
	if kind and (not places[kind] or result and not is_response or direction and not is_wish) then
		fail(r, item, bad.place)
	end
	if is_wish and kind == BYSIZE then
		word(r, g.item, f.rtr_longest)
	end
	if kind == EXRW or direction then
		local octets
		octets, list = segments(r, g.item)
		text = string.format(", %u segments, %u octets", #list, octets)
	elseif kind == TBSN and not is_wish then
		word(r, g.item, f.rtr_offset)
		local count = counted(r, g.item, f.rtr_number_count, 4)
		for i = 1, count do
			if i <= MAX_SHOWN then
				word(r, g.item, f.rtr_number)
			end
		end
		r.at = r.at + 4 * math.max(count - MAX_SHOWN, 0)
		text = string.format(", %u segments of Receives", count)
	end
	close(r, g, string.format(": %s%s%s", places[kind] or "none", length and string.format(", %u octets", length) or "", text))
	return kind, position, length, list
end

-- What chunks would be: h.reads, with .sent where the octets came with the message.
local function rtr_items(r, tree, h, is_response)
	for _ = 1, counted(r, tree, f.rtr_items, 12) do
		local kind, position, length = rtr_place(r, tree, false, is_response)
		if not r.ok then
			break
		end
		if kind == EXRW or kind == TBSN then
			h.reads[#h.reads + 1] = { position = position, length = length, sent = kind == TBSN }
		end
	end
end

local function rtr_set(r, tree)
	local g = group(r, tree, f.rtr_set)
	local from, to = word(r, g.item, f.rtr_begin), word(r, g.item, f.rtr_end)
	for _ = 1, counted(r, g.item, f.rtr_wishes, 8) do
		if r.ok then
			rtr_place(r, g.item, true, false)
		end
	end
	close(r, g, string.format(": Positions %u to %u", from or 0, to or 0))
end

rtr_layout[5] = function(r, tree)
	local h = { reads = {} }
	rtr_items(r, tree, h, false)
	for _ = 1, counted(r, tree, f.rtr_sets, 12) do
		if r.ok then
			rtr_set(r, tree)
		end
	end
	h.count = word(r, tree, f.rtr_count)
	word(r, tree, f.rtr_reserved)
	h.stream = word(r, tree, f.rtr_payload)
	h.info = string.format("%u items", #h.reads)
	return h
end

rtr_layout[6] = function(r, tree)
	local h = { reads = {} }
	rtr_items(r, tree, h, true)
	h.count = word(r, tree, f.rtr_count)
	h.stream = word(r, tree, f.rtr_payload)
	h.info = string.format("%u items", #h.reads)
	return h
end

rtr_layout[7] = function(r, tree)
	local number = word(r, tree, f.rtr_transmission)
	word(r, tree, f.rtr_began)
	return { count = 0, stream = word(r, tree, f.rtr_payload), info = string.format("transmission %u", number or 0) }
end

local function rtr_identifier(r, tree, field)
	local g = group(r, tree, field)
	local xid = word(r, g.item, f.rtr_xid)
	local value = word(r, g.item, f.rtr_direction)
	if value and value > 1 then
		fail(r, g.item, bad.direction)
	end
	local number = word(r, g.item, f.rtr_transmission)
	close(r, g, string.format(": XID 0x%08x, %s, transmission %u", xid or 0, directions[value] or "none", number or 0))
end

rtr_layout[8] = function(r, tree)
	rtr_identifier(r, tree, f.rtr_bad)
	if follows(r, tree) then
		rtr_identifier(r, tree, f.rtr_lead)
	end
	local code, item = word(r, tree, f.rtr_fault)
	if code and not faults[code] then
		fail(r, item, bad.fault)
	elseif code and code >= 6 then
		word(r, tree, f.rtr_value)
		word(r, tree, f.rtr_min)
		word(r, tree, f.rtr_max)
	elseif code and code ~= 3 then
		word(r, tree, f.rtr_expected)
		word(r, tree, f.rtr_current)
	end
	return { info = faults[code] or "no error" }
end

-- Where one item came with a message of one transmission: the message ends with it, and it begins with a word. On
-- InfiniBand there may be a pad behind it.
local function rtr_take_octets(r, h)
	local sent
	for _, c in ipairs(h.reads) do
		if c.sent and sent then
			return
		end
		sent = c.sent and c or sent
	end
	local at = sent and r.tvb:len() - sent.length or 0
	at = at - at % 4
	if sent and sent.length > 0 and r.at + h.stream <= at then
		sent.octets = r.tvb(at, sent.length):raw()
	end
end

-- @h says what a body said; the payload stream begins at @r.
local function rtr_stream(r, tree, h)
	if not r.ok or not h.stream then
		return h
	end
	if h.stream > left(r) then
		fail(r, tree, bad.count)
		return h
	end
	h.payload, h.rest = h.count == 1 and h.stream > 0, true
	if h.payload then
		rtr_take_octets(r, h)
	end
	return h
end

for op, name in pairs(options) do
	layout[0x52540000 + op] = function(r, tree)
		return rtr_stream(r, tree, rtr_layout[op](r, tree))
	end
end

-- The early draft, its section 4.2.
local early_layout = {}

local function direction(r, tree)
	local value = word(r, tree, f.early_direction)
	if value and value > 1 then
		fail(r, tree, bad.direction)
	end
	return value == 1
end

-- Direction, then the three lists of version 1.
local function early_lists(r, tree)
	local h = { is_reply = direction(r, tree) }
	local reads, octets = read_list(r, tree, f.reads, nil)
	h.reads, h.read_octets = reads, octets
	h.written = write_list(r, tree)
	h.reply_octets, h.reply_chunk = reply_chunk(r, tree)
	h.written = h.is_reply and h.written or nil
	h.offered = not h.is_reply and h.reply_chunk or nil
	return h
end

early_layout[0] = function(r, tree)
	local h = early_lists(r, tree)
	h.payload = true
	return h
end

early_layout[1] = function(r, tree)
	local h = early_lists(r, tree)
	if h.is_reply then
		h.returned = h.reply_chunk
		h.info = string.format("%u octets in the Reply chunk", h.reply_octets or 0)
	else
		h.info = string.format("%u octets in Read chunks", h.read_octets)
	end
	return h
end

early_layout[4] = function(r, tree)
	local code = word(r, tree, f.early_err)
	if code == 1 then
		word(r, tree, f.vers_low)
		word(r, tree, f.vers_high)
	end
	return { info = early_errors[code] or "unknown error" }
end

-- Its information is all of the body.
local function early_rtr(r, item, length, opttype)
	local inner = { tvb = r.tvb(r.at, length):tvb(), at = 0, ok = true }
	local h = rtr_layout[opttype](inner, item)
	if inner.ok and left(inner) > 0 then
		fail(inner, item, bad.tail)
	end
	r.ok = inner.ok
	return h
end

-- What may follow the header is part of a payload stream, or none: only the option's document says.
early_layout[5] = function(r, tree)
	local is_reply = direction(r, tree)
	local opttype = word(r, tree, f.early_opttype)
	local length = word(r, tree, f.early_optlength)
	if length and length > left(r) then
		fail(r, tree, bad.count)
	end
	local h = { rest = true }
	if r.ok and length > 0 then
		local item = tree:add(f.early_optinfo, r.tvb(r.at, length))
		if rtr_layout[opttype] then
			h = early_rtr(r, item, length, opttype)
		end
		r.at = math.min(r.at + length + -length % 4, r.tvb:len())
		h = rtr_layout[opttype] and rtr_stream(r, item, h) or h
	end
	h.info = string.format("option %u, %s%s", opttype or 0, is_reply and "REPLY" or "CALL", h.info and ", " .. h.info or "")
	return h
end

-- Which of the two drafts a message is of.
local function is_early(pinfo, htype, len)
	local a, b = tostring(pinfo.src), tostring(pinfo.dst)
	if not lower_value("bth_opcode") then
		a, b = a .. ":" .. pinfo.src_port, b .. ":" .. pinfo.dst_port
	end
	local key = a < b and a .. " " .. b or b .. " " .. a
	if htype <= 1 then
		dialects[key] = true
		return true
	end
	if dialects[key] == nil and htype ~= 4 then
		dialects[key] = htype == 5 and len > PREFIX
	end
	return dialects[key] and early_layout[htype] ~= nil or false
end

-- Which way: addresses, ports, and on InfiniBand the queue pair.
local function flow(pinfo)
	return table.concat({ tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port,
		tostring(lower_value("bth_qp") or "") }, " ")
end

-- A handle of the receiver of RDMA Writes; @back: of the sender of this message, whom Writes will reach.
local function handle_key(handle, pinfo, back)
	local a, b = { tostring(pinfo.src) }, { tostring(pinfo.dst) }
	if not lower_value("bth_opcode") then -- UDP's ports say nothing
		a[2], b[2] = pinfo.src_port, pinfo.dst_port
	end
	a, b = table.concat(a, ":"), table.concat(b, ":")
	return (back and b .. " " .. a or a .. " " .. b) .. " " .. handle
end

-- The first pass: Reply chunks on offer, so that no other Write need be kept.
local function want(h, pinfo)
	local seen = pinfo.number .. " " .. h.xid
	if offers[seen] then
		return
	end
	offers[seen] = true
	for _, s in ipairs(h.offered) do
		if wanted_count >= MAX_OPEN or wanted_size > 2 * MAX_STREAM then
			wanted, wanted_count, wanted_size = {}, 0, 0
		end
		wanted[handle_key(s.handle, pinfo, true)], wanted_count = { size = 0 }, wanted_count + 1
	end
end

-- The first pass: octets of a Write.
local function add_write(handle, at, tvb, pinfo)
	local w = wanted[handle_key(handle, pinfo, false)]
	if w and w.size + tvb:len() <= MAX_STREAM then
		w[#w + 1], w.size = { at = at, octets = tvb:raw() }, w.size + tvb:len()
		wanted_size = wanted_size + tvb:len()
	end
end

-- The first pass: what was written into @segments, the oldest Write first; nil when some of it is missing.
local function take_written(segments, pinfo)
	local out = {}
	for _, s in ipairs(segments) do
		local key, have = handle_key(s.handle, pinfo, false), 0
		for _, w in ipairs(wanted[key] or {}) do
			if have < s.length and w.at - s.at == UInt64(have) then
				out[#out + 1], have = w.octets:sub(1, s.length - have), have + #w.octets
			end
		end
		if have < s.length then
			return nil
		end
	end
	return #out > 0 and table.concat(out) or nil
end

-- The first pass: add @octets to the continued message they are of. Returns what is known of the part.
local function add_part(h, octets, pinfo)
	local key = flow(pinfo) .. " " .. h.xid .. (h.type >= 11 and " r" or " c")
	local s = streams[key]
	local expected = h.remaining and #octets + h.remaining or #octets
	local part = { at = 0, cont = s and s.remaining ~= expected }

	if s and part.cont then
		streams[key], s, open_streams = nil, nil, open_streams - 1
	end
	if not s and not h.remaining then
		return part
	end
	if not s then
		if open_streams >= MAX_OPEN then
			streams, open_streams = {}, 0
		end
		s = { octets = {}, at = 0, parts = {}, frames = {} }
		streams[key], open_streams = s, open_streams + 1
	end
	part.at, part.total = s.at, s.at + expected
	s.at, s.remaining = s.at + #octets, h.remaining
	s.octets[#s.octets + 1] = s.at <= MAX_STREAM and octets or ""
	s.parts[#s.parts + 1], s.frames[#s.frames + 1] = part, pinfo.number
	if not h.remaining then
		streams[key], open_streams = nil, open_streams - 1
		part.whole = s.at <= MAX_STREAM and table.concat(s.octets) or nil
		part.frames = s.frames
		for _, p in ipairs(s.parts) do
			p.whole_in = pinfo.number
		end
	end
	return part
end

local function find_part(h, octets, pinfo)
	local key = table.concat({ pinfo.number, h.type, h.xid, h.remaining or "-", #octets }, " ")
	if not parts[key] then
		parts[key] = add_part(h, octets, pinfo)
	end
	return parts[key]
end

-- @octets of a message with zeros for what its chunks hold; as they are when Positions do not fit.
local function with_zeros(h, octets)
	local out, from, at, total = {}, 1, 0, h.written or 0
	for _, c in ipairs(h.reads or {}) do
		total = total + c.length
	end
	if total == 0 or #octets + total > MAX_STREAM or not rpcrdma2.prefs.zeros then
		return octets
	end
	for i, c in ipairs(h.reads or {}) do
		local before = c.position - at
		local same = i > 1 and h.reads[i - 1].position == c.position
		local next_same = h.reads[i + 1] and h.reads[i + 1].position == c.position
		if not same then
			if before < 0 or from + before - 1 > #octets then
				return octets
			end
			out[#out + 1] = octets:sub(from, from + before - 1)
			from, at = from + before, c.position
		end
		at = at + c.length
		local pad = next_same and 0 or -at % 4
		out[#out + 1], at = (c.octets or string.rep("\0", c.length)) .. string.rep("\0", pad), at + pad
	end
	out[#out + 1] = octets:sub(from)
	if h.written then
		out[#out + 1] = string.rep("\0", h.written + -h.written % 4)
	end
	return table.concat(out)
end

local function hand_on(h, tvb, pinfo, tree, item)
	if tvb:len() < 4 or tvb(0, 4):uint() ~= h.xid then
		item:add_proto_expert_info(bad.xid)
		return data:call(tvb, pinfo, tree)
	end
	-- A dissector that meets the end of the octets raises an error: theirs, not ours.
	local ok, used = pcall(rpc.call, rpc, tvb, pinfo, tree)
	if not ok then
		item:add_proto_expert_info(bad.upper)
	elseif used == 0 then
		data:call(tvb, pinfo, tree)
	end
end

local function payload(r, h, pinfo, tree, item)
	if left(r) < 1 then
		return
	end
	local range = h.stream and r.tvb(r.at, h.stream) or r.tvb(r.at)
	local octets = range:raw()
	local part = find_part(h, octets, pinfo)
	local sub = item:add(f.payload, range)

	sub:append_text(string.format(": %u octets", #octets))
	if part.cont then
		sub:add_proto_expert_info(bad.cont)
	end
	if part.total then
		sub:add(f.stream_at, range, part.at):set_generated()
		sub:add(f.stream_length, range, part.total):set_generated()
	end
	for i = 1, math.min(part.frames and #part.frames or 0, MAX_SHOWN) do
		sub:add(f.stream_from, range, part.frames[i]):set_generated()
	end
	if h.remaining then
		if part.whole_in then
			sub:add(f.stream_in, range, part.whole_in):set_generated()
		end
		return
	end
	local whole = with_zeros(h, part.whole or octets)
	if #whole == #octets then
		hand_on(h, range:tvb(), pinfo, tree, sub)
	else
		hand_on(h, ByteArray.new(whole, true):tvb("RPC message"), pinfo, tree, sub)
	end
end

-- A message that came through the Reply chunk, if its Writes are in the capture.
local function through_reply_chunk(h, pinfo, tree, item)
	local key = pinfo.number .. " " .. h.xid
	if external[key] == nil then
		external[key] = take_written(h.returned, pinfo) or false
	end
	if external[key] then
		local tvb = ByteArray.new(with_zeros(h, external[key]), true):tvb("RPC message")
		hand_on(h, tvb, pinfo, tree, item)
	end
end

-- The first pass: records of a turn, which go on in the sender's next value after MORE.
local function add_to_turn(value, pinfo)
	local key, part = flow(pinfo), {}
	local t = turns[key]

	if not t then
		if open_turns >= MAX_OPEN then
			turns, open_turns = {}, 0
		end
		t = { octets = {}, size = 0, parts = {} }
		turns[key], open_turns = t, open_turns + 1
	end
	t.size = t.size + value.range:len()
	t.octets[#t.octets + 1] = t.size <= MAX_TURN and value.range:raw() or ""
	t.parts[#t.parts + 1] = part
	if value.kind ~= MORE then
		turns[key], open_turns = nil, open_turns - 1
		part.whole = t.size <= MAX_TURN and table.concat(t.octets) or nil
		for _, p in ipairs(t.parts) do
			p.whole_in = pinfo.number
		end
	end
	return part
end

local function hand_on_tls(value, h, pinfo, tree)
	local key = pinfo.number .. " " .. h.xid
	if not turned[key] then
		turned[key] = add_to_turn(value, pinfo)
	end
	local part = turned[key]
	if part.whole then
		-- Records that end early wait for nothing of TCP's.
		local can = pinfo.can_desegment
		pinfo.can_desegment = 0
		pinfo.cols.info:fence()
		pcall(tls.call, tls, ByteArray.new(part.whole, true):tvb("TLS records"), pinfo, tree)
		pinfo.can_desegment = can
		pinfo.cols.protocol = "RPCoRDMA2"
	elseif part.whole_in then
		value.item:add(f.hostauth_in, value.range, part.whole_in):set_generated()
	end
end

local function is_ours(tvb)
	if tvb:len() < PREFIX or tvb(4, 4):uint() ~= VERSION then
		return false
	end
	local htype = tvb(12, 4):uint()
	return types[htype] ~= nil or early_types[htype] ~= nil
end

-- Of the round-trip extension: what lies behind the payload stream.
local function behind_stream(r, h, item)
	local octets = h.stream and left(r) - h.stream or 0
	if octets > 0 then
		item:add(f.rtr_data, r.tvb(r.at + h.stream, octets)) -- on InfiniBand its pad is among them
	end
end

local function dissect(tvb, pinfo, tree)
	local r = { tvb = tvb, at = 0, ok = true }
	local item = tree:add(rpcrdma2, tvb())
	local xid = word(r, item, f.xid)
	word(r, item, f.version)
	local credit = word(r, item, f.credit)
	local early = is_early(pinfo, tvb(12, 4):uint(), tvb:len())
	local htype = word(r, item, early and f.early_type or f.type)
	local h = (early and early_layout or layout)[htype](r, item)

	h.xid, h.type = xid, htype
	local text = string.format("%s, XID 0x%08x, credit %u", (early and early_types or types)[htype], xid, credit)
	item:append_text(", " .. text)
	pinfo.cols.protocol = "RPCoRDMA2"
	pinfo.cols.info = text .. (h.info and ", " .. h.info or "") .. " "
	item:set_len(r.at)
	if h.offered then
		want(h, pinfo)
	end
	if not r.ok then
		pinfo.cols.info:append("[malformed header] ")
	elseif h.returned and left(r) == 0 then
		through_reply_chunk(h, pinfo, tree, item)
	elseif h.payload then
		payload(r, h, pinfo, tree, item)
		behind_stream(r, h, item)
	elseif h.rest and left(r) > 0 then
		local octets = h.stream or left(r)
		if octets > 0 then
			item:add(f.payload, tvb(r.at, octets)):append_text(string.format(": %u octets", octets))
		end
		behind_stream(r, h, item)
	elseif r.hostauth then
		hand_on_tls(r.hostauth, h, pinfo, tree)
	elseif left(r) > 0 then
		item:add_proto_expert_info(bad.tail)
	end
end

-- What a packet of InfiniBand, or a DDP segment of iWARP, is of its Send.
local FIRST, MIDDLE, LAST, ONLY = 1, 2, 3, 4

-- The first pass: one part of a Send of several, which begins at @at and is followed by what begins at
-- @next. Returns what is known of it, false when it is none of ours.
local function add_to_send(kind, at, next, tvb, pinfo)
	local key = flow(pinfo)
	local s = sends[key]

	if kind == FIRST then
		s = is_ours(tvb) and { octets = {}, size = 0, parts = {} } or nil
	elseif s and s.next ~= at then
		s = nil
	end
	if s and s.size + tvb:len() > MAX_STREAM then
		s = nil
	end
	sends[key] = kind ~= LAST and s or nil
	if not s then
		return false
	end
	local part = {}
	s.next, s.size = next, s.size + tvb:len()
	s.octets[#s.octets + 1] = tvb:raw()
	s.parts[#s.parts + 1] = part
	if kind == LAST then
		part.whole = table.concat(s.octets)
		for _, p in ipairs(s.parts) do
			p.whole_in = pinfo.number
		end
	end
	return part
end

-- What @classify finds out of a payload, of a Send or, by @note_write, of a Write, from the fields of lower layers, when there are any: kind, at,
-- next. Kept, for later passes often have no fields.
local function find_send(classify, note_write, tvb, pinfo)
	local key = table.concat({ pinfo.number, tvb:offset(), tvb:len() }, " ")
	if sent[key] == nil then
		local kind, at, next = classify(tvb)
		if kind == ONLY then
			sent[key] = is_ours(tvb) and {} or false
		elseif kind then
			sent[key] = tvb:len() > 0 and add_to_send(kind, at, next, tvb, pinfo)
		elseif kind == false then
			sent[key] = false
			note_write(tvb, pinfo)
		end
		if sent[key] and kind ~= ONLY then
			sent[key].part = true
		end
	end
	return sent[key]
end

-- A heuristic dissector is true when the payload is ours.
local function heuristic(classify, note_write)
	return function(tvb, pinfo, tree)
		local send = find_send(classify, note_write, tvb, pinfo)
		if not send then
			-- Without fields nothing is shown yet; kept from others all the same.
			return send == nil and is_ours(tvb)
		end
		if not send.part then
			dissect(tvb, pinfo, tree)
		elseif send.whole then
			dissect(ByteArray.new(send.whole, true):tvb("Send"), pinfo, tree)
		else
			local item = tree:add(rpcrdma2, tvb())
			item:append_text(", part of a Send")
			if send.whole_in then
				item:add(f.send_in, tvb(), send.whole_in):set_generated()
			end
			pinfo.cols.protocol = "RPCoRDMA2"
		end
		return true
	end
end

-- Classifiers return a kind, and for parts where they begin and what follows; false for what is no Send,
-- nil when the lower layers' fields are not there.

-- RDMAP opcodes 3 to 6 are the four kinds of Send; DDP says which part of which message a segment is.
local function on_iwarp(tvb)
	local opcode, msn = lower_value("opcode"), lower_value("ddp_msn")
	local offset, last = lower_value("ddp_mo"), lower_value("ddp_last")
	if not opcode then
		return nil
	end
	if opcode < 3 or opcode > 6 or not msn or not offset then
		return false
	end
	if not rpcrdma2.prefs.sends or offset == 0 and last then
		return ONLY
	end
	local at = msn * 0x100000000 + offset
	return offset == 0 and FIRST or last and LAST or MIDDLE, at, at + tvb:len()
end

local function write_on_iwarp(tvb, pinfo)
	if lower_value("opcode") == 0 then
		add_write(lower_value("ddp_stag"), lower_value("ddp_to"), tvb, pinfo)
	end
end

-- The opcodes of a reliable connection that are Sends.
local bth_send = {
	[0] = FIRST, [1] = MIDDLE, [2] = LAST, [3] = LAST, [4] = ONLY, [5] = ONLY, [22] = LAST, [23] = ONLY,
}

local function on_infiniband()
	local opcode, psn = lower_value("bth_opcode"), lower_value("bth_psn")
	if not opcode or not psn then
		return nil
	end
	return bth_send[opcode] or false, psn, (psn + 1) % 0x1000000
end

-- The first packet of a Write, or its only one, says where it goes.
local bth_write = { [6] = FIRST, [7] = MIDDLE, [8] = LAST, [9] = LAST, [10] = ONLY, [11] = ONLY }

local function write_on_infiniband(tvb, pinfo)
	local kind, key = bth_write[lower_value("bth_opcode")], flow(pinfo)
	if kind == FIRST or kind == ONLY then
		writing[key] = { handle = lower_value("reth_key"), at = lower_value("reth_va") }
	end
	local w = writing[key]
	if kind and w then
		add_write(w.handle, w.at, tvb, pinfo)
		w.at = w.at + UInt64(tvb:len())
	end
end

rpcrdma2:register_heuristic("iwarp_ddp_rdmap", heuristic(on_iwarp, write_on_iwarp))
rpcrdma2:register_heuristic("infiniband.payload", heuristic(on_infiniband, write_on_infiniband))

-- Wants every field, so that Wireshark makes them in its first pass too.
Listener.new("frame", nil, true)

-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Wireshark and tshark: frames of rdma_cm_alt's trunks, and those CM messages that Wireshark's own dissector names
-- without their fields: MRA, SIDR_REQ, SIDR_REP, LAP, APR. REJ and MRA get their reason in the column Info.
--
-- usage: tshark -X lua_script:rdma_cm_alt.lua -r FILE, or copy it to the folder of personal Lua plugins
-- (Help, About Wireshark, Folders).

local MESSAGES = {
	[0x10] = "REQ", [0x11] = "MRA", [0x12] = "REJ", [0x13] = "REP", [0x14] = "RTU", [0x15] = "DREQ", [0x16] = "DREP",
	[0x17] = "SIDR_REQ", [0x18] = "SIDR_REP", [0x19] = "LAP", [0x1a] = "APR",
}

-- IBTA volume 1, 12.6.7.2
local REASONS = {
	[1] = "no QP available", [2] = "no EEC available", [3] = "no resources available", [4] = "timeout",
	[5] = "unsupported request", [6] = "invalid communication ID", [7] = "invalid communication instance",
	[8] = "invalid service ID", [9] = "invalid transport service type", [10] = "stale connection",
	[11] = "RDC does not exist", [12] = "primary remote port GID rejected", [13] = "primary remote port LID rejected",
	[14] = "invalid primary SL", [15] = "invalid primary traffic class", [16] = "invalid primary hop limit",
	[17] = "invalid primary packet rate", [18] = "alternate remote port GID rejected",
	[19] = "alternate remote port LID rejected", [20] = "invalid alternate SL",
	[21] = "invalid alternate traffic class", [22] = "invalid alternate hop limit",
	[23] = "invalid alternate packet rate", [24] = "port and CM redirection", [25] = "port redirection",
	[26] = "invalid path MTU", [27] = "insufficient responder resources", [28] = "consumer reject",
	[29] = "RNR retry count rejected", [30] = "duplicate local communication ID", [31] = "unsupported class version",
	[32] = "invalid primary flow label", [33] = "invalid alternate flow label", [35] = "vendor option not supported",
}

local STATUSES = {
	[0] = "valid QPN", [1] = "service ID not supported", [2] = "rejected by service provider", [3] = "no QP available",
	[4] = "request should be redirected", [5] = "unsupported class version",
}

local MRAED = { [0] = "REQ", [1] = "REP", [2] = "LAP" }
local REJECTED = { [0] = "REQ", [1] = "REP", [2] = "no message", [3] = "another message" }
local RECORDS = {
	[1] = "REQ", [2] = "REP", [3] = "RTU", [4] = "REJ", [5] = "DREQ", [6] = "DREP", [7] = "HELD", [8] = "PING", [9] = "ASK",
}

-- Fields of messages, which begin after the MAD header: name, text, byte, bytes, and of a part of them lowest bit
-- and bits.
local COMM_IDS = { { "local_comm_id", "Local Communication ID", 0, 4 }, { "remote_comm_id", "Remote Communication ID", 4, 4 } }
local LAYOUT = {
	MRA = { COMM_IDS[1], COMM_IDS[2],
		{ "message_mraed", "Message MRAed", 8, 1, 6, 2, MRAED },
		{ "service_timeout", "Service Timeout", 9, 1, 3, 5 },
		{ "private_data", "PrivateData", 10, 222 } },
	SIDR_REQ = {
		{ "request_id", "RequestID", 0, 4 }, { "partition_key", "Partition Key", 4, 2 },
		{ "service_id", "ServiceID", 8, 8 }, { "private_data", "PrivateData", 16, 216 } },
	SIDR_REP = {
		{ "request_id", "RequestID", 0, 4 }, { "status", "Status", 4, 1, 0, 8, STATUSES },
		{ "info_length", "Length of additional information", 5, 1, 0, 8 },
		{ "qpn", "QPN", 8, 3 }, { "service_id", "ServiceID", 12, 8 }, { "qkey", "Q_Key", 20, 4 },
		{ "info", "Additional information", 24, 72 }, { "private_data", "PrivateData", 96, 136 } },
	LAP = { COMM_IDS[1], COMM_IDS[2],
		{ "remote_qpn", "Remote QPN", 12, 3 },
		{ "remote_cm_response_timeout", "Remote CM Response Timeout", 15, 1, 3, 5 },
		{ "alternate_local_lid", "Alternate Local Port LID", 20, 2 },
		{ "alternate_remote_lid", "Alternate Remote Port LID", 22, 2 },
		{ "alternate_local_gid", "Alternate Local Port GID", 24, 16 },
		{ "alternate_remote_gid", "Alternate Remote Port GID", 40, 16 },
		{ "private_data", "PrivateData", 64, 168 } },
	APR = { COMM_IDS[1], COMM_IDS[2],
		{ "info_length", "Length of additional information", 8, 1, 0, 8 },
		{ "ap_status", "AP Status", 9, 1, 0, 8 },
		{ "info", "Additional information", 12, 72 }, { "private_data", "PrivateData", 84, 148 } },
}

-- The protocol of a set of fields: numbers of up to 4 bytes, others as bytes.
local function declare(protocol, prefix, layouts)
	local fields, all = {}, {}
	for _, layout in pairs(layouts) do
		for _, f in ipairs(layout) do
			local name, text, _, bytes, _, bits, values = table.unpack(f)
			if not fields[name] then
				local filter = prefix .. "." .. name
				if bytes > 4 then
					fields[name] = ProtoField.bytes(filter, text)
				elseif bits then
					fields[name] = ProtoField.uint32(filter, text, base.DEC, values)
				else
					fields[name] = ProtoField.uint32(filter, text, base.HEX)
				end
				all[#all + 1] = fields[name]
			end
		end
	end
	protocol.fields = all
	return fields
end

-- Adds the fields of a layout that are within the buffer.
local function show(tree, fields, layout, buffer)
	local values = {}
	for _, f in ipairs(layout) do
		local name, _, at, bytes, low, bits = table.unpack(f)
		if at + bytes <= buffer:len() then
			local range = buffer(at, bytes)
			if bytes > 4 then
				tree:add(fields[name], range)
			else
				local value = range:uint()
				if low then
					value = bit.band(bit.rshift(value, low), bit.lshift(1, bits) - 1)
				end
				values[name] = value
				tree:add(fields[name], range, value)
			end
		end
	end
	return values
end

-- CM messages.
local cm = Proto("rdma_cm_alt_cm", "RDMA communication management (rdma_cm_alt)")
local cm_fields = declare(cm, "rdma_cm_alt_cm", LAYOUT)
local f_class = Field.new("infiniband.mad.mgmtclass")
local f_attribute = Field.new("infiniband.mad.attributeid")
local f_data = Field.new("infiniband.mad.data")

-- 4.096 us * 2^exponent
local function duration(exponent)
	local seconds = 4.096e-6 * 2 ^ exponent
	if seconds >= 1 then
		return string.format("%.1f s", seconds)
	end
	return string.format("%.0f ms", seconds * 1000)
end

-- The text of the column Info after the name of the message.
local function about(name, data, values)
	if name == "MRA" and values.service_timeout then
		return string.format(" of %s: wait %s", MRAED[values.message_mraed] or "?", duration(values.service_timeout))
	elseif name == "REJ" and data:len() >= 12 then
		local reason = data(10, 2):uint()
		return string.format(" of %s: %s (%d)", REJECTED[bit.rshift(data(8, 1):uint(), 6)],
			REASONS[reason] or "unknown reason", reason)
	elseif name == "SIDR_REP" and values.status then
		return string.format(": %s (%d)", STATUSES[values.status] or "unknown status", values.status)
	elseif name == "APR" and values.ap_status then
		return string.format(": status %d", values.ap_status)
	end
	return ""
end

function cm.dissector(_, pinfo, root)
	local class, attribute, data = f_class(), f_attribute(), f_data()
	if not (class and attribute and data) or class.value ~= 7 then
		return
	end
	local name = MESSAGES[attribute.value]
	if not name then
		return
	end
	local buffer, values = data.range, {}
	if LAYOUT[name] then
		local tree = root:add(cm, buffer, "CM " .. name)
		values = show(tree, cm_fields, LAYOUT[name], buffer)
	end
	pinfo.cols.info:append(about(name, buffer, values))
end

register_postdissector(cm)

-- Frames of trunks.
local HEADER = {
	{ "cookie", "Cookie", 0, 8 }, { "number", "Frame number", 8, 4, 0, 32 }, { "received", "Received up to", 12, 4, 0, 32 },
	{ "credits", "Credits", 16, 2, 0, 16 }, { "len", "Length", 18, 2, 0, 16 }, { "records", "Records", 20, 1, 0, 8 },
}
local RECORD_HEADER = {
	{ "type", "Type", 0, 1, 0, 8, RECORDS }, { "record_len", "Record length", 2, 2, 0, 16 }, { "conn", "Connection", 4, 4, 0, 32 },
}
local QP = function(at)
	return { "qpn", "QPN", at, 4 }, { "psn", "Starting PSN", at + 4, 4 },
		{ "responder_resources", "Responder Resources", at + 16, 1, 0, 8 },
		{ "initiator_depth", "Initiator Depth", at + 17, 1, 0, 8 }
end
local BODIES = {
	REQ = { { "service_id", "ServiceID", 8, 8 }, QP(16) },
	REP = { QP(8) },
	REJ = { { "reason", "Reason", 8, 2, 0, 16, REASONS } },
	DREQ = { { "remote_qpn", "Remote QPN", 8, 4 } },
	HELD = { { "delay_ms", "Repeat after (ms)", 8, 4, 0, 32 } },
}
local PRIVATE_AT = { REQ = 64, REP = 40, REJ = 16 }

local trunk = Proto("rdma_cm_alt_trunk", "Trunk of rdma_cm_alt")
local layouts = { HEADER, RECORD_HEADER, { { "private_data", "PrivateData", 0, 8 } } }
for _, layout in pairs(BODIES) do
	layouts[#layouts + 1] = layout
end
local trunk_fields = declare(trunk, "rdma_cm_alt_trunk", layouts)
local FRAME_LEN, RECORD_LEN, FRAME_MAX = 24, 8, 1024

-- bit.rshift() and bit.lshift() count 32 bits: a field of all of them is taken as it is.
for _, layout in pairs({ HEADER, RECORD_HEADER, BODIES.HELD }) do
	for _, f in ipairs(layout) do
		if f[6] == 32 then
			f[5] = nil
		end
	end
end

-- Whether it looks like a frame: the header has no mark, but its lengths have to fit. Padding may follow.
local function is_frame(buffer)
	local captured, reported = buffer:len(), buffer:reported_len()
	if captured < FRAME_LEN then
		return false
	end
	local len, records, at = buffer(18, 2):uint(), buffer(20, 1):uint(), FRAME_LEN
	if len < FRAME_LEN or len > FRAME_MAX or len > reported or reported > len + 3 or buffer(21, 3):uint() ~= 0 then
		return false
	end
	while records > 0 and at + RECORD_LEN <= captured do
		local record = buffer(at + 2, 2):uint()
		if record < RECORD_LEN or record % 4 ~= 0 or at + record > len or buffer(at + 1, 1):uint() ~= 0 then
			return false
		end
		at, records = at + record, records - 1
	end
	return captured < len or (records == 0 and at == len)
end

-- Adds a record; returns its length and its text for the column Info.
local function add_record(tree, buffer)
	local len = math.min(buffer(2, 2):uint(), buffer:len())
	local name = RECORDS[buffer(0, 1):uint()] or "unknown"
	local range = buffer(0, len):tvb()
	local text = string.format("%s of %d", name, buffer(4, 4):uint())
	local record = tree:add(trunk, buffer(0, len), text)
	show(record, trunk_fields, RECORD_HEADER, range)
	local values = BODIES[name] and show(record, trunk_fields, BODIES[name], range) or {}
	if values.reason then
		text = string.format("%s: %s (%d)", text, REASONS[values.reason] or "unknown reason", values.reason)
	end
	local private = PRIVATE_AT[name]
	if private and private < len then
		record:add(trunk_fields.private_data, range(private, len - private))
	end
	return len, text
end

local function dissect_trunk(buffer, pinfo, root)
	if not is_frame(buffer) then
		return false
	end
	local tree = root:add(trunk, buffer(), "Trunk of rdma_cm_alt")
	local values = show(tree, trunk_fields, HEADER, buffer)
	local at, said = FRAME_LEN, {}
	while at + RECORD_LEN <= math.min(values.len, buffer:len()) and #said < values.records do
		local len, text = add_record(tree, buffer(at):tvb())
		at = at + len
		said[#said + 1] = text
	end
	pinfo.cols.protocol:set("Trunk")
	pinfo.cols.info:set(string.format("Frame %d: %s", values.number,
		#said > 0 and table.concat(said, ", ") or "acknowledgement"))
	return true
end

function trunk.dissector(buffer, pinfo, root)
	return dissect_trunk(buffer, pinfo, root) and buffer:len() or 0
end

trunk:register_heuristic("infiniband.payload", dissect_trunk)

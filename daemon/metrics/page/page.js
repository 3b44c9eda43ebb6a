// SPDX-License-Identifier: BSD-2-Clause
// Asks /metrics every two seconds and draws what happened between two answers. Nothing that a gateway says becomes
// markup: text is set as text, charts are made of elements.
"use strict";

const EVERY_MS = 2000, POINTS = 150, SVG = "http://www.w3.org/2000/svg";
const PREFIX = "rpcrdma_gw_";
const history = { calls: [[]], octets: [[], []], latency: [[], []], memory: [[]] };
let before = null;

const $ = (id) => document.getElementById(id);

// {name: [{labels: {route: "one"}, value: 1}]}, without the prefix
function parse(text) {
	const samples = new Map();
	for (const line of text.split("\n")) {
		const match = /^([a-z0-9_:]+)(?:\{(.*)\})? (\S+)$/.exec(line);
		if (!match || !match[1].startsWith(PREFIX)) continue;
		const labels = {};
		for (const [, name, value] of (match[2] || "").matchAll(/([a-z_]+)="([^"]*)"/g)) labels[name] = value;
		const name = match[1].slice(PREFIX.length);
		if (!samples.has(name)) samples.set(name, []);
		samples.get(name).push({ labels, value: Number(match[3]) });
	}
	return samples;
}

// Of all samples of NAME whose labels are as in WANT.
function sum(samples, name, want = {}) {
	let total = 0;
	for (const { labels, value } of samples.get(name) || [])
		if (Object.keys(want).every((key) => labels[key] === want[key])) total += value;
	return total;
}

// What was added since BEFORE, sample by sample, because a reload may add and remove routes. A gateway that began anew counts
// from zero.
function added(now, was, name, want = {}) {
	const earlier = new Map(((was && was.get(name)) || []).map(({ labels, value }) => [JSON.stringify(labels), value]));
	let total = 0;
	for (const { labels, value } of (was && now.get(name)) || []) {
		const m = earlier.get(JSON.stringify(labels)) || 0;
		if (Object.keys(want).every((key) => labels[key] === want[key])) total += value >= m ? value - m : value;
	}
	return total;
}

// Mean time in ms of STEPS together; null: there were no RPCs.
function mean(now, was, steps, want = {}) {
	const count = added(now, was, "rpc_duration_seconds_count", { ...want, step: steps[0] });
	let seconds = 0;
	for (const step of steps) seconds += added(now, was, "rpc_duration_seconds_sum", { ...want, step });
	return count > 0 ? (1000 * seconds) / count : null;
}

function short(value, step = 1000, units = ["", "k", "M", "G", "T"]) {
	let unit = 0;
	while (value >= 10 * step && unit + 1 < units.length) {
		value /= step;
		unit++;
	}
	return (unit && value < 99.95 ? value.toFixed(1) : value.toFixed(0)) + units[unit];
}

const octets = (value) => short(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const ms = (value) => (value === null ? "\u2013" : value < 10 ? value.toFixed(2) : value.toFixed(0));

function age(seconds) {
	if (seconds < 120) return `${Math.floor(seconds)} s`;
	if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
	return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

function element(space, name, attributes, text) {
	const e = space ? document.createElementNS(space, name) : document.createElement(name);
	for (const key of Object.keys(attributes)) e.setAttribute(key, attributes[key]);
	if (text !== undefined) e.textContent = text;
	return e;
}

// Lines over time, the newest on the right, gaps where there is nothing.
function chart(id, lines, format, least) {
	const svg = $(id), width = svg.clientWidth || 300, height = svg.clientHeight || 112;
	const most = Math.max(least, ...lines.flat().filter((v) => v !== null));
	const y = (v) => (height - (height - 14) * (v / most)).toFixed(1);
	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	svg.setAttribute("role", "img");
	svg.replaceChildren();
	for (const part of [0.5, 1]) {
		svg.append(element(SVG, "line", { class: "grid", x1: 0, x2: width, y1: y(part * most), y2: y(part * most) }));
		svg.append(element(SVG, "text", { x: 2, y: y(part * most) - 3 }, format(part * most)));
	}
	lines.forEach((values, i) => {
		let d = "", pen = "M";
		values.forEach((v, n) => {
			if (v === null) {
				pen = "M";
				return;
			}
			d += `${pen}${((width * (POINTS - values.length + n)) / (POINTS - 1)).toFixed(1)} ${y(v)}`;
			pen = "L";
		});
		svg.append(element(SVG, "path", { class: `line ${"ab"[i]}`, d }));
	});
}

function remember(name, ...values) {
	values.forEach((value, i) => {
		history[name][i].push(value);
		if (history[name][i].length > POINTS) history[name][i].shift();
	});
}

function figures(list) {
	$("figures").replaceChildren(...list.map(([name, value]) => {
		const box = element(null, "div", {});
		box.append(element(null, "dt", {}, name), element(null, "dd", {}, value));
		return box;
	}));
}

const spoken = (now, want) => {
	const versions = (now.get("sessions_speaking") || []).filter(({ labels, value }) =>
		value > 0 && Object.keys(want).every((key) => labels[key] === want[key]));
	const of = (leg) => versions.filter(({ labels }) => labels.leg === leg)
		.map(({ labels, value }) => `${labels.version}\u00d7${value}`).join(" ");
	const client = of("client"), server = of("server");
	return client || server ? `${client || "\u2013"} \u2192 ${server || "\u2013"}` : "\u2013";
};

// The same in words, of one route or of all.
const spokenWords = (versions) => {
	const of = (leg) => versions.filter(({ labels, value }) => value > 0 && labels.leg === leg)
		.map(({ labels, value }) => `${value} on version ${labels.version}`).join(", ") || "none";
	return `connections to clients: ${of("client")}; to servers: ${of("server")}`;
};

const headings = (id) => [...document.querySelectorAll(`#${id} th`)].map((th) => th.textContent);

function servers(now) {
	const names = headings("servers-head");
	const rows = (now.get("upstream_up") || []).map(({ labels, value }) => {
		const want = { route: labels.route, server: labels.server }, row = element(null, "tr", {});
		const cells = [
			labels.server,
			value ? "up" : "down",
			labels.route,
			String(sum(now, "upstream_sessions", want)),
			String(sum(now, "upstream_connects_total", want)),
			String(sum(now, "upstream_failures_total", want)),
			String(sum(now, "upstream_probe_failures_total", want)),
		].map((text, i) => element(null, "td", { "data-name": names[i] }, text));
		if (!value) cells[1].className = "bad";
		row.append(...cells);
		return row;
	});
	$("servers").replaceChildren(...rows);
}

function routes(now, was, seconds) {
	const names = headings("routes-head");
	const rows = (now.get("sessions") || []).map(({ labels, value }) => {
		const want = { route: labels.route }, row = element(null, "tr", {});
		[
			labels.route,
			String(value),
			spoken(now, want),
			short(added(now, was, "calls_total", want) / seconds),
			octets(added(now, was, "to_server_bytes_total", want) / seconds) + "/s",
			octets(added(now, was, "to_client_bytes_total", want) / seconds) + "/s",
			ms(mean(now, was, ["responder"], want)),
			ms(mean(now, was, ["call", "reply"], want)),
			String(sum(now, "errors_to_requester_total", want)),
			String(sum(now, "sessions_refused_total", want)),
		].forEach((text, i) => row.append(element(null, "td", { "data-name": names[i] }, text)));
		row.children[2].setAttribute("title", spokenWords((now.get("sessions_speaking") || [])
			.filter((one) => one.labels.route === labels.route)));
		return row;
	});
	$("routes").replaceChildren(...rows);
}

function show(now, was, seconds) {
	const calls = (added(now, was, "calls_total") + added(now, was, "rcalls_total")) / seconds;
	const limit = sum(now, "memory_limit_bytes"), used = sum(now, "memory_used_bytes");
	const info = (now.get("build_info") || [{ labels: {} }])[0].labels;
	$("version").textContent = info.version || "";
	remember("calls", calls);
	remember("octets", added(now, was, "to_server_bytes_total") / seconds, added(now, was, "to_client_bytes_total") / seconds);
	remember("latency", mean(now, was, ["responder"]), mean(now, was, ["call", "reply"]));
	remember("memory", used);
	chart("calls", history.calls, short, 10);
	chart("octets", history.octets, octets, 1024);
	chart("latency", history.latency, ms, 0.1);
	chart("memory", history.memory, octets, limit || 1);
	$("calls-now").textContent = short(calls);
	$("memory-now").textContent = limit ? `${((100 * used) / limit).toFixed(1)} %` : "";
	figures([
		["Sessions", `${short(sum(now, "sessions"))} of ${short(sum(now, "sessions_limit"))}`],
		["Versions, clients \u2192 servers", spokenInAll(now)],
		["Servers", `${sum(now, "upstream_servers_up")} up, ${sum(now, "upstream_servers_down")} down`],
		["Resident", octets(sum(now, "resident_memory_bytes"))],
		["Refused", short(sum(now, "sessions_refused_total"))],
		["Errors to requesters", short(sum(now, "errors_to_requester_total"))],
		["Faults of peers", short(sum(now, "peer_faults_total"))],
	]);
	routes(now, was, seconds);
	servers(now);
}

// As spoken(), all routes together.
function spokenInAll(now) {
	const all = new Map();
	for (const { labels, value } of now.get("sessions_speaking") || []) {
		const key = `${labels.leg} ${labels.version}`;
		all.set(key, (all.get(key) || 0) + value);
	}
	const together = [...all].map(([key, value]) => ({
		labels: { leg: key.split(" ")[0], version: key.split(" ")[1] }, value,
	}));
	return spoken(new Map([["sessions_speaking", together]]), {});
}

function say(text, isBad) {
	$("state").textContent = text;
	$("state").className = isBad ? "bad" : "";
}

async function ask() {
	try {
		const answer = await fetch("/metrics", { cache: "no-store", signal: AbortSignal.timeout(10000) });
		if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
		const now = parse(await answer.text()), at = performance.now();
		if (!now.has("start_time_seconds")) throw new Error("no figures");
		if (before) show(now, before.samples, (at - before.at) / 1000);
		before = { samples: now, at };
		say(`serving for ${age(Date.now() / 1000 - sum(now, "start_time_seconds"))}`, false);
	} catch (e) {
		say(`no answer from the gateway: ${e.message}`, true);
	}
	setTimeout(ask, EVERY_MS);
}

ask();

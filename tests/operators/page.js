// SPDX-License-Identifier: BSD-2-Clause
// page.js URL ROUTE... -- SERVER...: checks the status page of a serving gateway without a browser: the requests that the page
// makes, and its script, which runs over a document with only the elements that it needs. A SERVER is
// "ADDRESS up|down ROUTE SESSIONS FAILURES".
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const vm = require("node:vm");

const [url, ...words] = process.argv.slice(2);
const routes = words.slice(0, words.indexOf("--")), servers = words.slice(words.indexOf("--") + 1);

function get(path, method = "GET") {
	return new Promise((done, failed) => {
		const asked = http.request(new URL(path, url), { method, agent: false }, (answer) => {
			let text = "";
			answer.setEncoding("utf8");
			answer.on("data", (part) => (text += part));
			answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, text }));
		});
		asked.on("error", failed);
		asked.end();
	});
}

// An element of the document, with only the properties that the script uses. It has none that takes markup, such as innerHTML.
class Element {
	constructor(name) {
		this.name = name;
		this.children = [];
		this.attributes = {};
		this.text = "";
		this.className = "";
		this.clientWidth = 300;
		this.clientHeight = 112;
	}
	set textContent(text) {
		assert.strictEqual(typeof text, "string");
		this.text = text;
		this.children = [];
	}
	get textContent() {
		return this.text + this.children.map((child) => child.textContent).join("");
	}
	setAttribute(name, value) {
		assert.ok(!/^on|^style$|href|src/.test(name), `attribute ${name}`);
		this.attributes[name] = String(value);
	}
	append(...more) {
		this.children.push(...more);
	}
	replaceChildren(...children) {
		this.children = children;
	}
}

function all(element, name) {
	return element.children.flatMap((child) => [...(child.name === name ? [child] : []), ...all(child, name)]);
}

function makeDocument(html) {
	const byId = new Map([...html.matchAll(/<([a-z]+)[^>]* id="([^"]+)"/g)].map(([, name, id]) => [id, new Element(name)]));
	const heads = new Map([...html.matchAll(/<thead id="([^"]+)">(.*?)<\/thead>/g)].map(([, id, row]) => [`#${id} th`,
		[...row.matchAll(/<th>([^<]*)<\/th>/g)].map(([, text]) => Object.assign(new Element("th"), { text }))]));
	return {
		byId,
		getElementById: (id) => {
			assert.ok(byId.has(id), `no element ${id}`);
			return byId.get(id);
		},
		querySelectorAll: (what) => {
			assert.ok(heads.has(what), `no headings ${what}`);
			return heads.get(what);
		},
		createElement: (name) => new Element(name),
		createElementNS: (space, name) => {
			assert.strictEqual(space, "http://www.w3.org/2000/svg");
			return new Element(name);
		},
	};
}

async function files() {
	const page = await get("/"), style = await get("/page.css"), script = await get("/page.js");
	const policy = page.headers["content-security-policy"];
	assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
	assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
	assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8");
	assert.strictEqual(style.headers["content-type"], "text/css; charset=utf-8");
	assert.strictEqual(script.headers["content-type"], "text/javascript; charset=utf-8");
	for (const { status, headers, text } of [page, style, script]) {
		assert.strictEqual(status, 200);
		assert.strictEqual(headers["x-content-type-options"], "nosniff");
		assert.strictEqual(Number(headers["content-length"]), Buffer.byteLength(text));
		assert.ok(Buffer.byteLength(text) < 16384);
	}
	// What the policy lets nobody load is not asked for, and nothing in the page would be held back by it.
	const asked = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, where]) => where);
	assert.deepStrictEqual(asked.sort(), ["/metrics", "/metrics", "/page.css", "/page.js", "data:,"]);
	assert.ok(!/ on[a-z]+=|<style|style=|<script>|<iframe|<form/.test(page.text));
	assert.match(page.text, /<meta name="viewport" content="width=device-width/);
	assert.ok(!/url\(|@import/.test(style.text));
	assert.ok(!/innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(/.test(script.text));
	const opened = page.text.match(/<(?!meta|link|!|\/)[a-z0-9]+/g).length;
	assert.strictEqual(opened, page.text.match(/<\/[a-z0-9]+>/g).length, "elements are closed");
	assert.strictEqual((await get("/", "HEAD")).text, "");
	assert.strictEqual((await get("/", "POST")).status, 405);
	assert.strictEqual((await get("/page.html")).status, 404);
	return { html: page.text, script: script.text };
}

async function main() {
	const { html, script } = await files();
	const document = makeDocument(html), waits = [];
	let path = "/metrics", clock = 0;
	// The figures, as if the first route had had many calls before, and there was one more route with many.
	const withMore = (text) => text.replace(/^(rpcrdma_gw_calls_total\{route="one"\} )(\d+)$/m, (_, head, n) => head + (Number(n) + 8e9)) +
		'rpcrdma_gw_calls_total{route="more"} 5000000000\n';
	const withMany = (text) => withMore(text).replace(/^rpcrdma_gw_calls_total\{route="more"\}.*\n/m, "");
	let edited = withMore;
	const context = {
		document,
		AbortSignal,
		performance: { now: () => clock },
		fetch: async (where) => {
			assert.strictEqual(where, "/metrics");
			const { status, text } = await get(path);
			clock += 2000;
			return { ok: status === 200, status, text: async () => edited(text) };
		},
		setTimeout: (what, after) => waits.push([what, after]),
	};
	const text = (id) => document.getElementById(id).textContent;
	// Until it has asked again: there is one question at a time.
	const turn = async (what) => {
		const before = waits.length;
		await what();
		while (waits.length === before) await new Promise((done) => setTimeout(done, 10));
		assert.strictEqual(waits.length, before + 1);
	};
	await turn(() => vm.runInNewContext(script, context));
	for (let i = 0; i < 3; i++) {
		await new Promise((done) => setTimeout(done, 300));
		await turn(waits.at(-1)[0]);
	}
	assert.match(text("state"), /^serving for \d+ s$/);
	assert.strictEqual(document.getElementById("state").className, "");
	assert.match(text("version"), /^\d+\.\d+\.\d+$/);
	assert.match(text("memory-now"), /^\d+\.\d %$/);
	assert.notStrictEqual(text("calls-now"), "0", "calls go on, and it does not see them");
	for (const [id, lines] of [["calls", 1], ["octets", 2], ["latency", 2], ["memory", 1]]) {
		const paths = all(document.getElementById(id), "path");
		assert.strictEqual(paths.length, lines);
		for (const { attributes } of paths) {
			assert.ok(!/NaN|undefined|Infinity/.test(attributes.d), attributes.d);
			assert.strictEqual(attributes.d.match(/[ML]/g).length, 3, `${id}: ${attributes.d}`);
		}
	}
	const rows = document.getElementById("routes").children, theirs = document.getElementById("servers").children;
	assert.deepStrictEqual(rows.map((row) => row.children[0].textContent), routes);
	for (const row of [...rows, ...theirs])
		for (const cell of row.children) {
			assert.ok(cell.attributes["data-name"], "no name on a telephone");
			assert.ok(!/NaN|undefined|Infinity/.test(cell.textContent), cell.textContent);
		}
	assert.deepStrictEqual(rows[0].children.slice(1, 3).map((cell) => cell.textContent), ["3", "1\u00d73 \u2192 2\u00d73"]);
	assert.match(text("figures"), /Versions, clients \u2192 servers1\u00d73 \u2192 2\u00d73Servers1 up, 1 downResident/);
	// In words, and what the short form shows is explained.
	assert.strictEqual(rows[0].children[2].attributes.title, "connections to clients: 3 on version 1; to servers: 3 on version 2");
	assert.match(html, /<b>1&times;1 2&times;2 &rarr; 1&times;3<\/b> are three sessions: one client speaks version 1 /);
	// Each server: where it is, up or down, its route, sessions and failures.
	const said = theirs.map(({ children }) => [0, 1, 2, 3, 5].map((i) => children[i].textContent).join(" "));
	assert.deepStrictEqual(said, servers);
	for (const { children } of theirs) assert.strictEqual(children[1].className, children[1].textContent === "up" ? "" : "bad");
	// A gateway that is away is told, and comes back.
	path = "/nowhere";
	await turn(waits.at(-1)[0]);
	assert.strictEqual(text("state"), "no answer from the gateway: HTTP 404");
	assert.strictEqual(document.getElementById("state").className, "bad");
	path = "/metrics";
	await turn(waits.at(-1)[0]);
	assert.match(text("state"), /^serving/);
	// When a reload removes a route, its counters are gone, and the calls of the other routes since the start are no sudden load.
	edited = withMany;
	await turn(waits.at(-1)[0]);
	assert.match(text("calls-now"), /^[\d.]+k?$/);
	console.log(`calls a second: ${text("calls-now")}, memory ${text("memory-now")}, ${rows.length} routes`);
}

main().catch((e) => {
	console.error(e);
	process.exit(1);
});

# SPDX-License-Identifier: BSD-2-Clause
"""browser.py CHROMIUM URL FOLDER: checks the status page in a browser without a screen.

The program controls the browser over its debugging pipe: a message is one JSON object and a NUL. It writes pictures of the page
to FOLDER, one as wide as on a desktop computer and one as on a telephone.
"""
import base64
import json
import os
import select
import subprocess
import sys
import time
from urllib.parse import urlsplit


class Browser:
    def __init__(self, program, folder):
        there, self.to = os.pipe()
        self.frm, back = os.pipe()
        words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
                 "--user-data-dir=" + os.path.join(folder, "profile"), "--remote-debugging-pipe", "about:blank"]
        run = 'exec "$@" 3<&%d 4>&%d' % (there, back)
        with open(os.path.join(folder, "browser.err"), "wb") as err:
            self.process = subprocess.Popen(["bash", "-c", run, "-"] + words, pass_fds=(there, back), stdout=err, stderr=err)
        os.close(there)
        os.close(back)
        self.events, self.rest, self.n, self.session = [], b"", 0, None

    def hear(self, end):
        while b"\0" not in self.rest:
            assert select.select([self.frm], [], [], max(0, end - time.monotonic()))[0], "the browser says nothing"
            more = os.read(self.frm, 1 << 16)
            assert more, "the browser is gone"
            self.rest += more
        said, self.rest = self.rest.split(b"\0", 1)
        return json.loads(said)

    def do(self, method, **params):
        self.n += 1
        order = {"id": self.n, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.to, json.dumps(order).encode() + b"\0")
        end = time.monotonic() + 60
        while True:
            said = self.hear(end)
            if said.get("id") == self.n:
                assert "error" not in said, (method, said)
                return said["result"]
            self.events.append(said)

    def eval(self, words):
        answer = self.do("Runtime.evaluate", expression=words, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, words, seconds=60):
        end = time.monotonic() + seconds
        while not self.eval(words):
            assert time.monotonic() < end, (words, self.eval("document.body.innerText"))
            time.sleep(0.1)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def shape(self, width, height, mobile):
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=mobile)


TEXT = "document.getElementById('%s')?.textContent"


def look(b, folder):
    # First a wide screen, then a telephone's. Nothing is wider than the screen. On a telephone each figure has its title beside it.
    for name, width, height, mobile in (("desk", 1280, 900, False), ("telephone", 390, 844, True)):
        b.shape(width, height, mobile)
        time.sleep(0.3)
        wide = b.eval("document.documentElement.scrollWidth")
        assert wide <= width, (name, wide)
        b.picture(os.path.join(folder, name + ".png"))
    assert b.eval("getComputedStyle(document.querySelector('thead')).display") == "none"
    assert b.eval("getComputedStyle(document.querySelector('td:nth-child(2)'), '::before').content") == '"Sessions"'


def page(b, url, folder):
    target = b.do("Target.createTarget", url="about:blank")["targetId"]
    b.session = b.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for part in ("Page", "Runtime", "Log", "Network"):
        b.do(part + ".enable")
    b.do("Page.navigate", url=url)
    b.wait("/^serving for/.test(%s)" % (TEXT % "state"))
    b.wait("!['', '0', undefined].includes(%s)" % (TEXT % "calls-now"))
    # The figures change: the chart of calls gets longer, and the number of calls a second changes.
    first = b.eval(TEXT % "calls-now")
    points = "document.querySelector('#calls path').getAttribute('d').length"
    length = b.eval(points)
    b.wait("%s !== '%s' && %s > %d" % (TEXT % "calls-now", first, points, length))
    assert b.eval("document.querySelectorAll('#routes tr').length") == 2
    assert b.eval("document.querySelectorAll('svg path').length") == 6
    assert b.eval("document.querySelector('#routes tr td:nth-child(3)').textContent") == "1\u00d73 \u2192 2\u00d73"
    servers = [[b.eval("document.querySelectorAll('#servers tr')[%d].children[%d].textContent" % (i, n)) for n in (1, 2)] for i in (0, 1)]
    assert servers == [["up", "one"], ["down", "two"]], servers
    colours = [b.eval("getComputedStyle(document.querySelectorAll('#servers tr')[%d].children[1]).color" % i) for i in (0, 1)]
    assert colours[0] != colours[1], colours
    look(b, folder)
    told = [e for e in b.events if e.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]
    assert not told, told
    asked = [e["params"]["request"]["url"] for e in b.events if e.get("method") == "Network.requestWillBeSent"]
    own = urlsplit(url).netloc
    away = [u for u in asked if not u.startswith("data:") and urlsplit(u).netloc != own]
    assert asked and not away, away
    assert {urlsplit(u).path for u in asked if not u.startswith("data:")} == {"/", "/page.css", "/page.js", "/metrics"}, asked
    # The page's policy forbids a picture from another host.
    b.eval("document.body.append(Object.assign(document.createElement('img'), {src: 'http://192.0.2.1/x.png'}))")
    end = time.monotonic() + 20
    while not any("Content Security Policy" in json.dumps(e) for e in b.events):
        assert time.monotonic() < end, "the policy is not kept"
        b.eval("0")
        time.sleep(0.1)
    print("%d requests, none elsewhere; calls a second %s, then %s" % (len(asked), first, b.eval(TEXT % "calls-now")))


def main(program, url, folder):
    b = Browser(program, folder)
    try:
        page(b, url, folder)
    finally:
        b.process.kill()
        b.process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:4])

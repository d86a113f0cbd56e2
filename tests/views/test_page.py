"""The page: one file, nothing fetched, whatever a file calls its functions."""

import base64
import hashlib
import json
import re

from aeskit.trace import Finding, Step, Trace
from aeskit.views.module import inlined
from aeskit.views.page import page

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&amp;"
RUN = Trace(EVIL, EVIL, (Step(EVIL, EVIL, EVIL, {EVIL: b"\1"}, {EVIL: EVIL}),), (Finding(EVIL, 0),))


def test_names_are_text_whatever_they_hold():
    text = page(RUN)
    assert text.count("<script") == text.count("</script>") == 2
    assert "<img" not in text
    assert "alert(1)</" not in text
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', text, re.DOTALL)[1]
    assert Trace.from_json(json.dumps(json.loads(data))) == RUN


def test_the_policy_lets_this_script_run_and_nothing_else():
    text = page(RUN)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"https?://", text)


def test_a_module_has_the_others_in_it_once():
    source = inlined("steps.js")
    assert not re.search(r"^import ", source, re.MULTILINE)
    assert source.count("class LanesView") == source.count("class Run ") == 1
    assert source.count("export default") == 1

"""A trace as one self-contained page: the widget's module with its trace in it, text where no script runs."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from aeskit.trace import Trace
from aeskit.views.module import STEPS, inlined, styles
from aeskit.views.steps import picture

MAX_TEXT_STEPS = 2000
"""A longer run has no text on its page: it would double it."""

_BOOT = """
mount(JSON.parse(document.getElementById("trace").textContent), document.querySelector("main")).root.focus();
"""


def page(trace: Trace) -> str:
    """The page. No other address is ever asked; names from the file are text, whatever they hold."""
    script, style = inlined("steps.js") + _BOOT, styles(*STEPS)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(trace.title)}</title>
<style>
{style}
</style>
</head>
<body class="aeskit-page">
<main></main>
<noscript><pre>{escape(_text(trace))}</pre></noscript>
<script type="application/json" id="trace">{_data(trace.to_json())}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _data(json: str) -> str:
    """JSON that cannot end its element, nor begin a comment in it."""
    return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(trace: Trace) -> str:
    if len(trace.steps) > MAX_TEXT_STEPS:
        return f"{trace.title}: {len(trace.steps)} steps; the page needs scripts to show them."
    return picture(trace, 100)

"""What the agent panel's page costs, in Chromium, against an agent that answers at once: `make bench-panel`.

Prints a table: first paint beside an empty page's, and when the app has come in place of the frame that is painted; opening a
session of 10,000 messages, the longest frame while scrolling up through it, and a stream of 500 chunks a second while somebody
types.
"""

import stat
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from panelagent import MESSAGES, RATE, SECONDS
from soultest.panelpage import PATIENCE, served
from soultest.workbench import chromium
from soultest.world import World

ROUNDS = 9
APP = "performance.getEntriesByName('panel')[0]?.startTime ?? 0"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
OPEN = """() => new Promise((resolve) => {
    const begin = performance.now();
    const done = () => resolve(performance.now() - begin);
    const wait = () => requestAnimationFrame(document.querySelector('.rows .row .agent') ? done : wait);
    document.querySelector('.session').click();
    wait();
})"""
SCROLL = """(frames) => new Promise((resolve) => {
    const all = document.querySelector('.transcript');
    const times = [];
    let last = performance.now();
    const step = (now) => {
        times.push(now - last);
        last = now;
        all.dispatchEvent(new WheelEvent('wheel', {deltaY: -400}));
        all.scrollTop -= 400;
        if (times.length < frames) requestAnimationFrame(step); else resolve(times.slice(2));
    };
    requestAnimationFrame(step);
})"""
FRAMES = """() => {
    window.frames_ = [];
    let last = performance.now();
    const step = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(step); };
    requestAnimationFrame(step);
}"""


def began(browser: Browser, address: str, *moments: str) -> tuple[float, ...]:
    """Milliseconds to each of these."""
    page = browser.new_page()
    page.goto(address)
    for moment in moments:
        page.wait_for_function(f"() => {moment} > 0")
    found = tuple(float(page.evaluate(moment)) for moment in moments)
    page.close()
    return found


def opened(page: Page, address: str) -> float:
    """Milliseconds from the click on a session to its end in sight."""
    page.goto(address)
    page.get_by_title("All sessions").click()
    expect(page.locator(".session")).to_be_visible()
    return float(page.evaluate(OPEN))


def streamed(page: Page) -> tuple[list[float], bool]:
    """The frames while it streams, and whether all that was typed meanwhile is there."""
    page.evaluate(FRAMES)
    field = page.get_by_role("textbox", name="Message")
    field.fill("Go")
    field.press("Enter")
    typed = "what somebody types while it streams " * 3
    field.press_sequentially(typed, delay=20)
    expect(page.get_by_role("log").get_by_text("END")).to_be_visible(timeout=(SECONDS + PATIENCE) * 1000)
    frames: list[Any] = page.evaluate("window.frames_")
    return [float(each) for each in frames], field.input_value() == typed


def share(times: list[float], longest: float) -> str:
    """How many were longer."""
    return f"{sum(each > longest for each in times)} of {len(times)}"


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory(prefix="panel-") as folder:
        world = World(Path(folder))
        agent = Path(folder) / "agent"
        agent.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / 'panelagent.py'}\n")
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        with chromium() as browser, served(world, program=agent) as address:
            empty = "data:text/html,<p>empty"
            began(browser, empty, PAINT)  # the browser's own first page
            paints = [began(browser, address, PAINT, APP) + began(browser, empty, PAINT) for _ in range(ROUNDS)]
            page = browser.new_page(viewport={"width": 400, "height": 800})
            opens = [opened(page, address) for _ in range(ROUNDS)]
            scrolls: list[float] = page.evaluate(SCROLL, 300)
            opened(page, address)
            frames, whole = streamed(page)
    print("| what | measured | budget |\n| --- | --- | --- |")
    ours, app, floor = (statistics.median(each) for each in zip(*paints, strict=True))
    print(f"| first paint, beside an empty page's {floor:.0f} ms | {ours:.0f} ms | {floor + 80:.0f} ms |")
    print(f"| the app works, beside the same | {app:.0f} ms | |")
    print(f"| a session of {MESSAGES:,} messages opens | {statistics.median(opens):.0f} ms | 500 ms |")
    print(f"| longest frame while scrolling | {max(scrolls):.0f} ms, {share(scrolls, 50)} over 50 ms | 50 ms |")
    print(f"| longest frame at {RATE} chunks/s | {max(frames):.0f} ms, {share(frames, 50)} over 50 ms | |")
    print(f"| typed meanwhile | {'nothing lost' if whole else 'LOST'} | nothing lost |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A picture of a trace, from the Chrome trace events that write_chrome_trace() has written.

usage: trace_picture.py EVENTS.json PICTURE.svg [--from MICROSECONDS] [--to MICROSECONDS]

Engines are groups, queues are lanes. Boxes are waits and work, ticks are signals, and an arrow leads from the signal
that ended a wait to the end of that wait. The picture of the README is made by

  command_processor --trace events.json && ./dev picture events.json docs/trace.svg --to 20000
"""

import argparse
import json
from html import escape

WIDTH = 860
LEFT = 110
RIGHT = 850
TOP = 30
LANE = 30
BOX = 16
GROUP = 22
CHARACTER = 5.6  # the width of one in the small letters


class Picture:
    def __init__(self, events, begin, end):
        self.events = [each for each in events if each["ph"] != "M"]
        self.begin = begin
        self.end = end
        self.engines = names(events, "process_name", "process_sort_index", "pid")
        self.queues = names(events, "thread_name", "thread_sort_index", "tid")
        self.parts = []
        self.place()

    def place(self):
        """Gives each engine and each queue its height."""
        self.engine_tops = {}
        self.bottoms = {}
        engine_of = {each["tid"]: each["pid"] for each in self.events}
        top = TOP
        for engine in self.engines:
            lanes = [queue for queue in self.queues if engine_of.get(queue) == engine]
            if not lanes:
                continue
            self.engine_tops[engine] = top
            top += GROUP
            for queue in lanes:
                self.bottoms[queue] = top + LANE - 6
                top += LANE
        self.bottom = top

    def x(self, time):
        return LEFT + (time - self.begin) / (self.end - self.begin) * (RIGHT - LEFT)

    def add(self, text):
        self.parts.append(f"  {text}")

    def box(self, event, kind):
        begin = max(event["ts"], self.begin)
        end = min(event["ts"] + event["dur"], self.end)
        if begin >= end:
            return
        left, width = self.x(begin), self.x(end) - self.x(begin)
        top = self.bottoms[event["tid"]] - BOX
        self.add(f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{max(width, 0.6):.1f}" height="{BOX}"/>')
        label = event["name"]
        if kind == "wait":
            label = f"{label.removeprefix('wait ')} ≥ {event['args']['value']}"
        if width > len(label) * CHARACTER + 6:
            self.add(f'<text x="{left + 4:.1f}" y="{top + 12}">{escape(label)}</text>')

    def tick(self, event):
        if self.begin <= event["ts"] <= self.end:
            bottom = self.bottoms[event["tid"]]
            self.add(f'<path class="signal" d="M{self.x(event["ts"]):.1f} {bottom - BOX - 2}V{bottom}"/>')

    def arrow(self, begin, end):
        if not (self.begin <= begin["ts"] and end["ts"] <= self.end):
            return
        from_x, to_x = self.x(begin["ts"]), self.x(end["ts"])
        from_y, to_y = self.bottoms[begin["tid"]], self.bottoms[end["tid"]]
        if from_y < to_y:
            to_y -= BOX + 1
        else:
            from_y -= BOX + 2
            to_y += 1
        self.add(f'<path class="arrow" d="M{from_x:.1f} {from_y}L{to_x:.1f} {to_y}"/>')

    def frame(self):
        for time in ruler(self.begin, self.end):
            x = self.x(time)
            self.add(f'<path class="grid" d="M{x:.1f} {TOP - 6}V{self.bottom}"/>')
            if x < WIDTH - 40:
                self.add(f'<text class="faint" x="{x:.1f}" y="{TOP - 12}">{time / 1000:g} ms</text>')
        for engine, top in self.engine_tops.items():
            self.add(f'<text class="engine" x="12" y="{top + 15}">{escape(self.engines[engine])}</text>')
            self.add(f'<path class="group" d="M12 {top + 19}H{RIGHT}"/>')
        for queue, bottom in self.bottoms.items():
            self.add(f'<text class="queue" x="24" y="{bottom - 3}">{escape(self.queues[queue])}</text>')
            self.add(f'<path class="grid" d="M{LEFT} {bottom}H{RIGHT}"/>')

    def draw(self):
        self.frame()
        for kind in ("work", "wait"):
            for event in self.of(kind):
                self.box(event, kind)
        for event in self.of("signal"):
            self.tick(event)
        begins = {each["id"]: each for each in self.of("release") if each["ph"] == "s"}
        for event in self.of("release"):
            if event["ph"] == "f" and event["id"] in begins:
                self.arrow(begins[event["id"]], event)
        self.legend()
        return "\n".join([HEAD.format(width=WIDTH, height=self.bottom + 30), *self.parts, "</svg>", ""])

    def of(self, category):
        return [each for each in self.events if each.get("cat") == category]

    def legend(self):
        y = self.bottom + 18
        for x, kind, text in ((LEFT, "wait", "a queue waits"), (LEFT + 130, "work", "it works")):
            self.add(f'<rect class="{kind}" x="{x}" y="{y - 11}" width="14" height="12"/>')
            self.add(f'<text class="faint" x="{x + 20}" y="{y}">{text}</text>')
        self.add(f'<path class="signal" d="M{LEFT + 240} {y - 12}V{y + 1}"/>')
        self.add(f'<text class="faint" x="{LEFT + 248}" y="{y}">it signals</text>')
        self.add(f'<path class="arrow" d="M{LEFT + 340} {y - 5}H{LEFT + 362}"/>')
        self.add(f'<text class="faint" x="{LEFT + 370}" y="{y}">the signal that ended the wait</text>')


HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">
  <title>What the queues of three engines waited for</title>
  <!-- Made by tools/trace_picture.py, which says how. -->
  <style>
    text {{ fill: #22221f; font-size: 11px }} .faint {{ fill: #66665f }}
    .engine {{ font-size: 13px; font-weight: bold }}
    .grid {{ stroke: #d7d7d2 }} .group {{ stroke: #8a8a82 }}
    .wait {{ fill: #f3c27d; stroke: #a56a12; stroke-width: .6 }}
    .work {{ fill: #b9d8c2; stroke: #4f8a62; stroke-width: .4 }}
    .signal {{ stroke: #1f5fa8; stroke-width: 2 }} .arrow {{ fill: none; stroke: #1f5fa8; marker-end: url(#head) }}
  </style>
  <defs>
    <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
      <path d="M0 0L8 4L0 8Z" fill="#1f5fa8"/>
    </marker>
  </defs>
  <rect width="{width}" height="{height}" fill="#fbfbfa"/>"""


def names(events, name, order, key):
    """Returns {number: name} of the engines or of the queues, in the order in which they are shown."""
    found = {each[key]: each["args"]["name"] for each in events if each["ph"] == "M" and each["name"] == name}
    places = {each[key]: each["args"]["sort_index"] for each in events if each["ph"] == "M" and each["name"] == order}
    return dict(sorted(found.items(), key=lambda item: places.get(item[0], 0)))


def ruler(begin, end):
    """Returns at most ten round times."""
    step = next(step for step in (digit * 10**power for power in range(12) for digit in (1, 2, 5))
                if (end - begin) / step <= 10)
    first = -(-begin // step) * step
    return [first + i * step for i in range(int((end - first) // step) + 1)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("events")
    parser.add_argument("picture")
    parser.add_argument("--from", dest="begin", type=float, default=0)
    parser.add_argument("--to", dest="end", type=float)
    options = parser.parse_args()
    with open(options.events, encoding="utf-8") as file:
        content = json.load(file)
    events = content["traceEvents"] if isinstance(content, dict) else content
    end = options.end or max(each["ts"] + each.get("dur", 0) for each in events if "ts" in each)
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write(Picture(events, options.begin, end).draw())


if __name__ == "__main__":
    main()

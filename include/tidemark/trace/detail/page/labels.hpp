// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_LABELS_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_LABELS_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_labels[] =
    "\n// The labels of one frame. They are collected while boxes and bars are drawn, and are drawn last, so that noth"
    "ing hides\n// them. No label touches another one: the one that was added first wins.\n\nconst HEIGHT = 14, GAP = "
    "6;\n\nclass Labels {\n  /// `widthOf` measures a text in pixels. No label leaves the pixels from `left` to `right"
    "`.\n  constructor(widthOf, left, right) {\n    Object.assign(this, {widthOf, left, right, placed: []});\n  }\n\n "
    " /// Adds the first of `texts` that is at most `room` wide, its left edge at `x` and its middle at `y`, in the st"
    "yle\n  /// {ink, ground}. Returns whether there was one and its place was free.\n  add(texts, x, y, room, style) "
    "{\n    const most = Math.min(room, this.right - x);\n    const text = texts.find((candidate) => this.widthOf(cand"
    "idate) <= most);\n    if (text === undefined || x < this.left) return false;\n    const label = {text, x, y, widt"
    "h: this.widthOf(text), ...style};\n    if (this.placed.some((other) => touch(label, other))) return false;\n    t"
    "his.placed.push(label);\n    return true;\n  }\n\n  /// Adds a text with its middle at `x`, moved so far that it "
    "does not leave the frame.\n  addCentered(text, x, y, style) {\n    const width = this.widthOf(text), left = Math."
    "max(Math.min(x - width / 2, this.right - width), this.left);\n    return this.add([text], left, y, width, style);"
    "\n  }\n}\n\nfunction touch(a, b) {\n  return Math.abs(a.y - b.y) < HEIGHT && a.x < b.x + b.width + GAP && b.x < a"
    ".x + a.width + GAP;\n}\n\n/// Draws labels, each with a rim of its ground so that it can be read over lines and a"
    "rrows.\nfunction drawLabels(context, labels) {\n  context.textAlign = 'left';\n  context.lineJoin = 'round';\n  f"
    "or (const {text, x, y, ink, ground} of labels.placed) {\n    context.strokeStyle = ground;\n    context.lineWidth"
    " = 3;\n    context.strokeText(text, x, y);\n    context.fillStyle = ink;\n    context.fillText(text, x, y);\n  }"
    "\n  context.lineWidth = 1;\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_LABELS_HPP

// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_body[] =
    "</style>\n</head>\n<body>\n<header>\n  <h1>tidemark trace</h1>\n  <div id=\"facts\"></div>\n  <div class=\"search"
    "\">\n    <input id=\"search\" type=\"search\" placeholder=\"Search (/)\"\n      aria-label=\"Search for a fence, "
    "queue, engine, value or work\"\n      title=\"Words that all must match: names of fences, queues, engines and wor"
    "k, values, wait, signal. Enter: next\">\n    <button id=\"previous\" title=\"Previous match (Shift+Enter)\" aria-"
    "label=\"Previous match\">&lsaquo;</button>\n    <button id=\"next\" title=\"Next match (Enter)\" aria-label=\"Nex"
    "t match\">&rsaquo;</button>\n    <span id=\"found\" role=\"status\"></span>\n  </div>\n  <div class=\"buttons\">"
    "\n    <button id=\"numbers\" title=\"Numbers of the time in view (r); Shift and drag chooses another time\">Numbe"
    "rs</button>\n    <button id=\"out\" title=\"Zoom out (-)\" aria-label=\"Zoom out\">&minus;</button>\n    <button "
    "id=\"in\" title=\"Zoom in (+)\" aria-label=\"Zoom in\">+</button>\n    <button id=\"fit\" title=\"Show everything"
    " that was executed (0)\">Fit</button>\n    <button id=\"all\" title=\"Show everything, also what was queued earli"
    "er (a)\">Fit queued</button>\n  </div>\n</header>\n<main>\n  <canvas id=\"canvas\" tabindex=\"0\" role=\"img\" ar"
    "ia-label=\"Timeline of waits, signals and work with one lane for\n each queue. The keys n and p pin the next and "
    "the previous command and describe it; r gives numbers.\"></canvas>\n  <div id=\"tip\" aria-hidden=\"true\" hidden"
    "></div>\n  <aside id=\"side\">\n    <section id=\"pinned\" class=\"card\" aria-label=\"Pinned\" hidden>\n      <b"
    "utton id=\"unpin\" class=\"close\" aria-label=\"Unpin\" title=\"Unpin (Esc)\">&times;</button>\n      <div id=\"p"
    "in\"></div>\n    </section>\n    <section id=\"range\" class=\"card\" aria-label=\"Numbers of a range\" hidden>\n"
    "      <button id=\"close\" class=\"close\" aria-label=\"Close\" title=\"Close (Esc)\">&times;</button>\n      <di"
    "v id=\"statistics\"></div>\n    </section>\n  </aside>\n  <div id=\"said\" role=\"status\"></div>\n</main>\n<foot"
    "er>\n  <div class=\"legend\">\n    <span><svg aria-hidden=\"true\"><rect x=\"1\" y=\"1\" width=\"24\" height=\"12"
    "\" rx=\"3\" fill=\"var(--wait)\"\n      stroke=\"var(--wait-edge)\"/></svg>parked: a wait stalls the queue (from "
    "afar: share of the time)</span>\n    <span><svg aria-hidden=\"true\"><rect x=\"1\" y=\"1\" width=\"24\" height=\""
    "12\" rx=\"3\" fill=\"var(--work)\"\n      stroke=\"var(--work-edge)\"/></svg>work (without an edge: derived, it m"
    "ay have been idle)</span>\n    <span><svg aria-hidden=\"true\"><rect x=\"11\" y=\"0\" width=\"4\" height=\"14\" r"
    "x=\"1\"\n      fill=\"var(--signal)\"/></svg>signal</span>\n    <span><svg aria-hidden=\"true\" fill=\"none\" str"
    "oke=\"var(--arrow)\" stroke-width=\"1.4\"><path\n      d=\"M2 2C12 2 12 12 20 12\"/><path d=\"M25 12l-6-3v6z\" fi"
    "ll=\"var(--arrow)\" stroke=\"none\"/></svg>signal releases\n      wait</span>\n    <span><svg aria-hidden=\"true"
    "\"><path d=\"M7 3v9M13 3v9M19 3v9\" stroke=\"var(--queued)\"\n      stroke-width=\"2\"/></svg>queued</span>\n    "
    "<span><svg aria-hidden=\"true\"><path d=\"M10 2v11M16 2v11\" stroke=\"var(--pending)\"\n      stroke-width=\"2\"/"
    "></svg>queued, execution not seen</span>\n    <span><svg aria-hidden=\"true\"><rect x=\"1\" y=\"1\" width=\"24\" "
    "height=\"12\" fill=\"var(--lost-fill)\" stroke=\"var(--lost)\"\n      stroke-dasharray=\"3 2\"/></svg>log entries"
    " lost</span>\n    <span><svg aria-hidden=\"true\"><rect x=\"1\" y=\"1\" width=\"24\" height=\"12\" rx=\"3\" fill="
    "\"none\" stroke=\"var(--wait-edge)\"\n      stroke-dasharray=\"3 2\"/></svg>time not recorded</span>\n    <span><"
    "svg aria-hidden=\"true\"><path d=\"M13 1l7 12H6z\" fill=\"var(--lost)\"/></svg>time stamp went backward</span>\n "
    " </div>\n  <div class=\"keys\">wheel zooms, drag moves, click pins, <kbd>Shift</kbd> and drag counts; <kbd>&larr;"
    "</kbd>\n    <kbd>&rarr;</kbd> <kbd>&uarr;</kbd> <kbd>&darr;</kbd> move, <kbd>+</kbd> <kbd>&minus;</kbd> zoom, <kb"
    "d>0</kbd> fit,\n    <kbd>a</kbd> fit queued, <kbd>n</kbd> <kbd>p</kbd> next and previous, <kbd>r</kbd> numbers, <"
    "kbd>/</kbd> search,\n    <kbd>Esc</kbd> clear</div>\n</footer>\n<script type=\"application/json\" id=\"data\">\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP

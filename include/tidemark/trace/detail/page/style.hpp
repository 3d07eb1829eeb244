// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_style[] =
    "/* SPDX-License-Identifier: BSL-1.0 */\n:root {\n  color-scheme: light dark;\n  --ground: #ffffff;\n  --panel: #f"
    "6f7f9;\n  --band: #fafbfc;\n  --line: #e3e5ea;\n  --ink: #1c1f26;\n  --faint: #5c6270;\n  --wait: #f8c9da;\n  --w"
    "ait-far: #efabc4;\n  --wait-edge: #c9527f;\n  --wait-ink: #6d1c3d;\n  --signal: #a8124e;\n  --arrow: #4463b5;\n  "
    "--queued: #22897e;\n  --pending: #c2410c;\n  --lost: #b87700;\n  --lost-fill: #fff3d6;\n  --lost-ink: #7a4d00;\n "
    " --work: #d3e8d5;\n  --work-far: #a9cfae;\n  --work-edge: #57925f;\n  --work-ink: #1f4a28;\n  --match: #7a2be0;\n"
    "  --head: #eceef2;\n  --shadow: 0 4px 18px #0003;\n}\n@media (prefers-color-scheme: dark) {\n  :root {\n    --gro"
    "und: #14161b;\n    --panel: #1b1e25;\n    --band: #181b21;\n    --line: #2b303a;\n    --ink: #e8eaf0;\n    --fain"
    "t: #a0a7b6;\n    --wait: #5b3146;\n    --wait-far: #834863;\n    --wait-edge: #a85f7f;\n    --wait-ink: #ffd9e6;"
    "\n    --signal: #ff6ba1;\n    --arrow: #8cacff;\n    --queued: #46c2b3;\n    --pending: #ff8a4c;\n    --lost: #f0"
    "b13c;\n    --lost-fill: #2e2715;\n    --lost-ink: #f7c869;\n    --work: #213f29;\n    --work-far: #3a6a45;\n    -"
    "-work-edge: #61a06d;\n    --work-ink: #cfeed5;\n    --match: #c79bff;\n    --head: #222630;\n    --shadow: 0 4px "
    "18px #000a;\n  }\n}\n* {\n  box-sizing: border-box;\n}\nhtml, body {\n  height: 100%;\n  margin: 0;\n}\nbody {\n "
    " display: flex;\n  flex-direction: column;\n  background: var(--ground);\n  color: var(--ink);\n  font: 13px/1.45"
    " system-ui, \"Segoe UI\", Roboto, \"Noto Sans\", sans-serif;\n}\nheader, footer {\n  display: flex;\n  flex-wrap:"
    " wrap;\n  align-items: center;\n  gap: 6px 18px;\n  padding: 8px 14px;\n  background: var(--panel);\n}\nheader {"
    "\n  border-bottom: 1px solid var(--line);\n}\nfooter {\n  border-top: 1px solid var(--line);\n  color: var(--fain"
    "t);\n  font-size: 12px;\n  padding: 5px 14px;\n}\nh1 {\n  font-size: 15px;\n  font-weight: 650;\n  margin: 0;\n  "
    "letter-spacing: .01em;\n}\n#facts {\n  color: var(--faint);\n}\n#facts .strong {\n  color: var(--ink);\n  font-we"
    "ight: 600;\n}\n#facts .warn {\n  color: var(--lost-ink);\n  font-weight: 600;\n}\n.search {\n  margin-left: auto;"
    "\n  display: flex;\n  align-items: center;\n  gap: 6px;\n}\ninput {\n  font: inherit;\n  color: inherit;\n  backg"
    "round: var(--ground);\n  border: 1px solid var(--line);\n  border-radius: 6px;\n  padding: 2px 8px;\n  width: 170"
    "px;\n}\n#found {\n  color: var(--faint);\n  min-width: 84px;\n  font-variant-numeric: tabular-nums;\n}\n.buttons "
    "{\n  margin-left: auto;\n  display: flex;\n  gap: 6px;\n}\nbutton {\n  font: inherit;\n  color: inherit;\n  backg"
    "round: var(--ground);\n  border: 1px solid var(--line);\n  border-radius: 6px;\n  min-width: 30px;\n  padding: 2p"
    "x 9px;\n  cursor: pointer;\n}\nbutton:hover {\n  border-color: var(--faint);\n}\nbutton:focus-visible, canvas:foc"
    "us-visible, input:focus-visible {\n  outline: 2px solid var(--arrow);\n  outline-offset: -2px;\n}\nkbd {\n  font:"
    " inherit;\n  border: 1px solid var(--line);\n  border-radius: 4px;\n  padding: 0 5px;\n  background: var(--ground"
    ");\n  color: var(--ink);\n}\n.legend {\n  display: flex;\n  flex-wrap: wrap;\n  gap: 4px 16px;\n}\n.legend span {"
    "\n  display: inline-flex;\n  align-items: center;\n  gap: 6px;\n}\n.legend svg {\n  width: 26px;\n  height: 14px;"
    "\n  overflow: visible;\n}\n.keys {\n  margin-left: auto;\n}\nmain {\n  flex: 1;\n  position: relative;\n  min-hei"
    "ght: 0;\n  overflow: hidden;\n}\ncanvas {\n  position: absolute;\n  inset: 0;\n  width: 100%;\n  height: 100%;\n "
    " touch-action: none;\n  cursor: grab;\n}\ncanvas.dragging {\n  cursor: grabbing;\n}\n#tip, .card {\n  padding: 8p"
    "x 11px;\n  border-radius: 8px;\n  background: var(--panel);\n  border: 1px solid var(--line);\n  box-shadow: var("
    "--shadow);\n  font-size: 12px;\n}\n#tip {\n  position: absolute;\n  left: 0;\n  top: 0;\n  max-width: min(380px, "
    "90%);\n  pointer-events: none;\n}\n/* What was pinned, and the numbers of a range: in a corner, above the lanes. "
    "*/\n#side {\n  position: absolute;\n  right: 22px;\n  bottom: 10px;\n  max-width: calc(100% - 40px);\n  max-heigh"
    "t: calc(100% - 50px);\n  display: flex;\n  flex-direction: column;\n  align-items: flex-end;\n  gap: 8px;\n  poin"
    "ter-events: none;\n}\n.card {\n  position: relative;\n  pointer-events: auto;\n  overflow: auto;\n  max-width: 10"
    "0%;\n  min-height: 60px;\n}\n#pinned {\n  width: 340px;\n  border-left: 3px solid var(--ink);\n}\n#range {\n  bor"
    "der-left: 3px solid var(--arrow);\n  max-height: 320px;\n}\n.close {\n  float: right;\n  min-width: 24px;\n  marg"
    "in-left: 10px;\n  padding: 0 6px;\n}\ntable {\n  border-collapse: collapse;\n  font-variant-numeric: tabular-nums"
    ";\n}\nth, td {\n  padding: 1px 12px 1px 0;\n  text-align: right;\n  font-weight: normal;\n  white-space: nowrap;"
    "\n}\nth:first-child {\n  text-align: left;\n}\ntr:first-child th {\n  color: var(--faint);\n}\n:is(#tip, .card) h"
    "2 {\n  font-size: 13px;\n  margin: 0 0 4px;\n  overflow-wrap: anywhere;\n}\n:is(#tip, .card) dl {\n  display: gri"
    "d;\n  grid-template-columns: auto 1fr;\n  gap: 1px 12px;\n  margin: 0;\n}\n:is(#tip, .card) dt {\n  color: var(--"
    "faint);\n}\n:is(#tip, .card) dd {\n  margin: 0;\n  font-variant-numeric: tabular-nums;\n  overflow-wrap: anywhere"
    ";\n}\n:is(#tip, .card) p {\n  margin: 5px 0 0;\n  color: var(--lost-ink);\n}\n/* Read aloud, not shown. */\n#said"
    " {\n  position: absolute;\n  width: 1px;\n  height: 1px;\n  overflow: hidden;\n  clip-path: inset(50%);\n}\n/* Wi"
    "thout a keyboard, or without room for it, the keys are not explained. */\n@media (pointer: coarse), (max-width: 7"
    "00px), (max-height: 500px) {\n  .keys {\n    display: none;\n  }\n}\n@media (max-width: 700px), (max-height: 500p"
    "x) {\n  input {\n    width: 110px;\n  }\n  #found {\n    min-width: 0;\n  }\n}\n@media (max-height: 340px), (max-"
    "width: 420px) and (max-height: 500px) {\n  footer {\n    display: none;\n  }\n}\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_STYLE_HPP

// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_body[] = R"page(</style>
</head>
<body>
<header>
  <h1>tidemark trace</h1>
  <div id="facts"></div>
  <div class="buttons">
    <button id="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
    <button id="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
    <button id="fit" title="Show everything that was executed (0)">Fit</button>
    <button id="all" title="Show everything, also what was queued earlier (a)">Fit queued</button>
  </div>
</header>
<main>
  <canvas id="canvas" tabindex="0" role="img" aria-label="Timeline of waits and signals with one lane for each queue.
 The keys n and p select the next and the previous command and describe it."></canvas>
  <div id="tip" aria-hidden="true" hidden></div>
  <div id="said" role="status"></div>
</main>
<footer>
  <div class="legend">
    <span><svg aria-hidden="true"><rect x="1" y="1" width="24" height="12" rx="3" fill="var(--wait)"
      stroke="var(--wait-edge)"/></svg>wait, while it stalls its queue (from afar: share of the time)</span>
    <span><svg aria-hidden="true"><rect x="11" y="0" width="4" height="14" rx="1"
      fill="var(--signal)"/></svg>signal</span>
    <span><svg aria-hidden="true" fill="none" stroke="var(--arrow)" stroke-width="1.4"><path
      d="M2 2C12 2 12 12 20 12"/><path d="M25 12l-6-3v6z" fill="var(--arrow)" stroke="none"/></svg>signal releases
      wait</span>
    <span><svg aria-hidden="true"><path d="M7 3v9M13 3v9M19 3v9" stroke="var(--queued)"
      stroke-width="2"/></svg>queued</span>
    <span><svg aria-hidden="true"><path d="M10 2v11M16 2v11" stroke="var(--pending)"
      stroke-width="2"/></svg>queued, execution not seen</span>
    <span><svg aria-hidden="true"><rect x="1" y="1" width="24" height="12" fill="var(--lost-fill)" stroke="var(--lost)"
      stroke-dasharray="3 2"/></svg>log entries lost</span>
    <span><svg aria-hidden="true"><rect x="1" y="1" width="24" height="12" rx="3" fill="none" stroke="var(--wait-edge)"
      stroke-dasharray="3 2"/></svg>time not recorded</span>
    <span><svg aria-hidden="true"><path d="M13 1l7 12H6z" fill="var(--lost)"/></svg>time stamp went backward</span>
  </div>
  <div class="keys">wheel zooms, drag moves, click selects; <kbd>&larr;</kbd> <kbd>&rarr;</kbd> <kbd>&uarr;</kbd>
    <kbd>&darr;</kbd> move, <kbd>+</kbd> <kbd>&minus;</kbd> zoom, <kbd>0</kbd> fit, <kbd>a</kbd> fit queued,
    <kbd>n</kbd> <kbd>p</kbd> next and previous, <kbd>Esc</kbd> clear</div>
</footer>
<script type="application/json" id="data">
)page";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_BODY_HPP

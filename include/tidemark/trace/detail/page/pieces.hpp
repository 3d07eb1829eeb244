// SPDX-License-Identifier: BSL-1.0
//
// The trace page, in pieces: those before the data, and those after it.
//
// Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_PIECES_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_PIECES_HPP

#include "arrows.hpp"
#include "body.hpp"
#include "describe.hpp"
#include "draw.hpp"
#include "frame.hpp"
#include "head.hpp"
#include "labels.hpp"
#include "lanes.hpp"
#include "main.hpp"
#include "model.hpp"
#include "search.hpp"
#include "series.hpp"
#include "statistics.hpp"
#include "style.hpp"
#include "tail.hpp"
#include "text.hpp"
#include "view.hpp"
#include "work.hpp"

namespace tidemark::detail {

// clang-format off
inline constexpr const char* trace_page_before_data[] = {
    trace_page_head,
    trace_page_style,
    trace_page_body,
};

inline constexpr const char* trace_page_after_data[] = {
    trace_page_series,
    trace_page_model,
    trace_page_text,
    trace_page_describe,
    trace_page_search,
    trace_page_statistics,
    trace_page_view,
    trace_page_frame,
    trace_page_work,
    trace_page_lanes,
    trace_page_arrows,
    trace_page_labels,
    trace_page_draw,
    trace_page_main,
    trace_page_tail,
};
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_PIECES_HPP

// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_TAIL_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_TAIL_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_tail[] =
    "</script>\n</body>\n</html>\n";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_TAIL_HPP

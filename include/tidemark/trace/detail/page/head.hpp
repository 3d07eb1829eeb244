// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=de"
    "vice-width,initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';\n style"
    "-src 'sha256-jOHm1tGt7sKL0w63azP221JNjmAM9FvmmS0M42ctbuo=';\n script-src 'sha256-MQD/T6h5hNL6c+HWQ8v32zhxTlD4hP1q"
    "qViyYoEsQbY='\">\n<title>tidemark trace</title>\n<style>";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP

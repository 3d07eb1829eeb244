// SPDX-License-Identifier: BSL-1.0
//
// One piece of the trace page. Made by tools/embed_trace_page.py from tools/trace_page/. Do not edit.
#ifndef TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP
#define TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP

namespace tidemark::detail {

// clang-format off
inline constexpr const char trace_page_head[] = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 style-src 'sha256-WWb9NeEsi6a8s4c9cpmkfhWm1GRoMkI78DLjjpb/w1o=';
 script-src 'sha256-9fCYakh0FEYCFiioKxG7xr4cab7Eg9pY4JYT0fZHgUw='">
<title>tidemark trace</title>
<style>)page";
// clang-format on

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_PAGE_HEAD_HPP

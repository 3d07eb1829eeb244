// SPDX-License-Identifier: BSL-1.0
//
// The program of checks that have no main() of their own.
#include "../check.hpp"

int main(int argc, char** argv) { return tidemark::verify::run(argc, argv, tidemark::verify::detail::registered); }

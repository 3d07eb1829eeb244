// SPDX-License-Identifier: BSL-1.0
//
// A process that opens or makes a shared fence by name, for tests that start it as a program of its own.
//
//   shared_peer open NAME      opens it, and prints the status and the field
//   shared_peer create NAME    opens or makes it, prints the same, and stays attached until its input ends
#include <cstdio>
#include <string>
#include <string_view>

#include <tidemark/fence/shared_fence.hpp>

namespace {

template <class Result>
int tell(const Result& opened) {
  const std::string status{to_string(opened.status)};
  const std::string field{to_string(opened.field)};
  std::printf("%s %s\n", status.c_str(), field.c_str());
  return std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string_view verb{arguments[1]};
  const tidemark::shared_name name{arguments[2]};
  if (verb == "open") return tell(tidemark::shared_fence::open(name));
  if (verb != "create") return 2;
  const auto made = tidemark::shared_fence::open_or_create(name);
  const int told = tell(made);
  while (std::getchar() != EOF) {
  }
  return told;
}

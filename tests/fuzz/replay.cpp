// SPDX-License-Identifier: BSL-1.0
//
// Feeds the files of a folder to a fuzz target, and some thousand random inputs: what a compiler without libFuzzer can
// do.
//
//   fuzz_<stem> FOLDER
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "input.hpp"

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  std::mt19937_64 numbers{1};
  constexpr int random_inputs = 20'000;
  for (int i = 0; i < random_inputs; ++i) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(numbers() % 300));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(numbers());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu files and %d random inputs, nothing found\n", files, random_inputs);
  return files > 0 ? 0 : 1;
}

// SPDX-License-Identifier: BSL-1.0
// A stream to a temporary file without a name: what is too much for the memory is written to it, and read back later.

#pragma once

#include "files.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <ostream>
#include <string>
#include <utility>

namespace support {

class spool_file {
 public:
  spool_file() {
    std::string path = (std::filesystem::temp_directory_path() / "tidemark-XXXXXX").string();
    const int descriptor = ::mkstemp(path.data());
    if (descriptor < 0) fail("create", path);
    open_file guard(descriptor, path);
    stream_.open(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
    const int reason = errno;
    ::unlink(path.c_str());  // it lives on until the stream is closed
    if (!stream_) fail("open", path, reason);
  }

  [[nodiscard]] std::ostream& output() { return stream_; }

  /// The same bytes from the start. Nothing may be written afterwards.
  [[nodiscard]] std::istream& input() {
    stream_.seekg(0);
    return stream_;
  }

 private:
  std::fstream stream_;
};

}  // namespace support

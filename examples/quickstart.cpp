// SPDX-License-Identifier: BSL-1.0
// A worker thread produces results; the main thread waits until those it needs are there.

#include <tidemark/tidemark.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <thread>

int main() {
  using namespace std::chrono_literals;
  using tidemark::wait_status;

  std::array<std::size_t, 1000> squares{};  // plain data, handed over by the fence
  tidemark::progress_fence ready;           // value n: the first n squares may be read

  std::thread worker([&] {
    for (std::size_t n = 0; n < squares.size(); ++n) {
      squares[n] = n * n;
      ready.signal_next();  // a store and a load, unless somebody waits for just this value
    }
  });

  bool ok = ready.wait(10) == wait_status::reached;  // sleeps only if it must
  ok = ok && squares[9] == 81;                       // the worker is still busy behind this one

  const auto progress = ready.view();  // may look and wait, can not signal
  ok = ok && progress.wait_for(1000, 30s) == wait_status::reached && squares[999] == 998'001;
  ok = ok && progress.wait_for(1001, 10ms) == wait_status::timeout;  // never signalled

  worker.join();
  std::printf("%zu squares, the last is %zu: %s\n", squares.size(), squares.back(), ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}

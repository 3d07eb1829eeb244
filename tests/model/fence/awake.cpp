// SPDX-License-Identifier: BSL-1.0
//
// Model checks of waits that do not sleep.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/awake_view.hpp>

namespace {

using tidemark::wait_status;
using tidemark::wait_strategy;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using timeline_type = model::shaped_fence<platform, model::one_slot>;

template <wait_strategy How>
struct one_waits : model::suite<2> {
  timeline_type timeline;
  payload data;
  tidemark::awake_view<timeline_type, How> view{timeline};

  void after() { model::require_idle(timeline); }
};

/// [A37] A wait that does not sleep sees what was done before the signal.
template <wait_strategy How>
struct sees_data : one_waits<How> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->timeline.signal(1);
    } else {
      MODEL_REQUIRE(this->view.wait(1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
};

/// [A120] The same for a timeline that is lost.
template <wait_strategy How>
struct sees_loss : one_waits<How> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      this->timeline.poison();
    } else {
      MODEL_REQUIRE(this->view.wait(1) == wait_status::lost);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  checks.push_back(model::make_check<sees_data<wait_strategy::spins>, "sees_data.spins">());
  checks.push_back(model::make_check<sees_data<wait_strategy::yields>, "sees_data.yields">());
  checks.push_back(model::make_check<sees_loss<wait_strategy::spins>, "sees_loss.spins">());
  checks.push_back(model::make_check<sees_loss<wait_strategy::yields>, "sees_loss.yields">());
  return model::run(argc, argv, checks);
}

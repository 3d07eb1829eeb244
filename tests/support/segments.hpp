// SPDX-License-Identifier: BSL-1.0
//
// Sets of segments for tests of allocations.
#ifndef TIDEMARK_TESTS_SUPPORT_SEGMENTS_HPP
#define TIDEMARK_TESTS_SUPPORT_SEGMENTS_HPP

#include <tidemark/memory/supported_segments.hpp>

#if defined(__linux__)

namespace testing {

/// Returns whether an allocation of one memory segment may be created.
template <class Timeline>
bool may_be(tidemark::cpu_access access, bool supports_aperture, const tidemark::device_segment<Timeline>& memory) {
  const tidemark::segment_set alone = tidemark::segment_set{}.with(memory.traits());
  return may_be_created(access, supports_aperture ? alone.with_aperture() : alone);
}

/// Returns the set of one memory segment, and of an aperture segment or none, which must be possible.
template <class Timeline>
tidemark::supported_segments<Timeline> segments_of(tidemark::cpu_access access, bool supports_aperture,
                                                   tidemark::device_segment<Timeline>& memory) {
  if (supports_aperture) return {access, tidemark::with_aperture_segment, memory};
  return tidemark::supported_segments<Timeline>::make(access, memory).value();
}

}  // namespace testing

#endif

#endif  // TIDEMARK_TESTS_SUPPORT_SEGMENTS_HPP

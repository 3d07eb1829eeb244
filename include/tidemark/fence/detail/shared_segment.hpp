// SPDX-License-Identifier: BSL-1.0
//
// shared_segment: pages that processes share, and one process's attachment to them. (Interface; bodies follow.)
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP

// Interface that the next commits keep. V is the file of the values (signallers write), W the file of the waiters.
//
//   shared_files.hpp
//     struct segment_shape { value_kind, double_word, options, slots, attachments, value_bytes, waiter_bytes };   // all
//         checked field by field; options is a mask of the fence's choice
//     enum class open_status { attached, busy, invalid, no_memory, no_space, refused, unknown };
//     enum class segment_field { none, magic, byte_order, layout_version, word_size, page, double_word, value_kind,
//                                options, slots, attachments, value_bytes, waiter_bytes, id, file_size, seals,
//                                rights, own_description };           // both have to_string()
//     struct open_result { open_status status; segment_field field; int error; explicit operator bool; };
//     class segment_files;    // the global handle: the descriptors of V and W, and the name if there is one; movable
//       static open_result create_in_memory(segment_files& to, const segment_shape&, file_modes = {});
//       static open_result receive(segment_files& to, int socket);     // blocks as the socket does
//       open_result send(int socket, bool read_only_values = false) const;
//       bool has_name() const;
//       std::array<std::uint64_t, 2> id() const;
//     struct segment_name { std::string_view directory = "/dev/shm", name; }
//     struct global_barrier { static bool register_process(); static bool is_registered(); static bool issue(); };
//
//   shared_segment.hpp
//     struct attachment_options { attachment_rights rights; bool is_registered; std::string_view label;
//                                 deadline until; };
//     template <platform Platform> class shared_segment {      // neither copied nor moved
//       // `clean(index)`: gives back all that the attachment `index` has in W. Called while this thread holds its byte.
//       template <class Clean> open_result open(const segment_files&, const segment_shape&, const attachment_options&,
//                                               Clean&& clean);
//       template <class Clean> open_result open_or_create(segment_name, file_modes, const segment_shape&,
//                                               const attachment_options&, Clean&& clean);   // keeps its segment_files
//       template <class Clean> void close(Clean&& clean);      // clean(index()) for what is left, then free, then unlock
//       ~shared_segment();                                     // close() without clean: a dirty record is left to others
//       bool is_open() const; bool is_inherited() const;       // inherited: this is the child of a fork
//       attachment_rights rights() const; std::uint32_t index() const;
//       const segment_shape& shape() const;  std::array<std::uint64_t, 2> id() const;   // of the private copy
//       std::byte* base() const;                               // V at +0, W behind it
//       static constexpr std::size_t values_at = ...;          // constant: value_bytes begin here, page aligned
//       static constexpr std::size_t waiters_at(const segment_shape&);   // waiter_bytes begin here, from base()
//       bool may_look(deadline now);                           // true once in look_interval for the segment (hint word)
//       template <class Clean> look_outcome look(Clean&& clean, std::uint32_t most = 16);
//       signallers signaller_state() const;
//       bool is_attached(std::uint32_t index) const;           // by its lock
//       attachment_note note_of(std::uint32_t index) const;    // what its record says
//       park_word& bell_of(std::uint32_t index) const;
//       word<u64>& pins() const;                               // bit for each attachment; cleared by close() and look()
//       bool set_pin();                                        // for the own attachment
//       death_watch: void watch_deaths(void (*told)(void*), void* of); int death_descriptor(); static void drain_deaths();
//     };
//
//     inline constexpr auto look_interval_of_segments = 50 ms;

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP

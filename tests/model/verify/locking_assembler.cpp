// SPDX-License-Identifier: BSL-1.0
//
// An atomic operation that the compiler does not know of. find_locks.cmake must find it in the object.
long add_one(long& word) {
  long one = 1;
#if defined(__x86_64__)
  asm volatile("lock xaddq %0, %1" : "+r"(one), "+m"(word) : : "memory");
#elif defined(__aarch64__)
  asm volatile("1: ldaxr x1, [%1]\n add x1, x1, %0\n stlxr w2, x1, [%1]\n cbnz w2, 1b"
               :
               : "r"(one), "r"(&word)
               : "x1", "w2", "memory");
#endif
  return one;
}

# SPDX-License-Identifier: BSL-1.0
#
# Writes one check down as a program of its own, for a second opinion:
#
#   cmake -D SOURCE=my_checks.cpp -D CHECK=step_4 -D OUTPUT=folder [-D CLANG=clang++-14] [-D "OPTIONS=-I...;-D..."]
#         -P export.cmake
#
#   SOURCE   the file with the check. It may include <tidemark/verify/check.hpp> and relacy_platform.hpp.
#   CHECK    the variable of the check: step_4, for `const checked<...> step_4{"step 4"};`
#   OUTPUT   gets CHECK.cpp, a main() of one line. Compiled with the folder `second` before all others, it plays the
#            check with threads of the system, as often as the argument of the program says.
#   CLANG    then also CHECK.ll is made, which GenMC plays: genmc --input-from-bitcode-file folder/CHECK.ll
#
# GenMC interprets what clang has made of the source. So all of the C++ that clang knows may be used, but not what the
# interpreter does not have: locks and threads of the standard library, system calls, exceptions, input and output,
# atomics of more than eight bytes.
cmake_minimum_required(VERSION 3.23)

foreach(needed SOURCE CHECK OUTPUT)
  if(NOT ${needed})
    message(FATAL_ERROR "export.cmake: -D ${needed}=... is missing")
  endif()
endforeach()
get_filename_component(source "${SOURCE}" ABSOLUTE)
if(NOT EXISTS "${source}")
  message(FATAL_ERROR "export.cmake: there is no file ${source}")
endif()
file(READ "${source}" text)
if(NOT text MATCHES "[^A-Za-z0-9_]${CHECK} *[{(;=]")
  message(FATAL_ERROR "export.cmake: no variable ${CHECK} in ${source}")
endif()
set(program "${OUTPUT}/${CHECK}.cpp")
file(CONFIGURE OUTPUT "${program}" @ONLY CONTENT "#include \"${source}\"
int main(int, char** words) { return tidemark::verify::run(${CHECK}, words); }
")
if(NOT CLANG)
  return()
endif()

# ---- for the interpreter ---------------------------------------------------------------------------------------------

# Optimized, because then structs are taken apart: it knows no access that is wider or narrower than an earlier one.
# Padding that is copied must have a value. No loop becomes a memset(), and no double is long. native_platform, which is
# not played, must make no system call when the program starts, as with ThreadSanitizer.
set(options -std=c++20 -O1 -g -w -fno-exceptions -fno-threadsafe-statics -fno-vectorize -fno-slp-vectorize
            -fno-builtin-memset -mllvm -disable-loop-idiom-all -ftrivial-auto-var-init=zero -DTIDEMARK_GENMC
            -D__SANITIZE_THREAD__)
execute_process(COMMAND "${CLANG}" -dumpversion OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(version VERSION_LESS 16)
  list(APPEND options -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
endif()
execute_process(COMMAND "${CLANG}" -dumpmachine OUTPUT_VARIABLE machine COMMAND_ERROR_IS_FATAL ANY)
if(machine MATCHES "^(x86_64|i.86)")
  list(APPEND options -mlong-double-64)
endif()
set(code "${OUTPUT}/${CHECK}.ll")
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH include)
cmake_path(GET include PARENT_PATH include)
cmake_path(GET include PARENT_PATH include)
execute_process(COMMAND "${CLANG}" ${options} "-I${CMAKE_CURRENT_LIST_DIR}/second" "-I${include}" ${OPTIONS} -emit-llvm
                        -S "${program}" -o "${code}" COMMAND_ERROR_IS_FATAL ANY)
file(READ "${code}" text)

# What it does not have: some functions of LLVM. A bracket or a semicolon means something to CMake.
string(REPLACE "[" "@OPENING@" text "${text}")
string(REPLACE "]" "@CLOSING@" text "${text}")
string(REPLACE ";" "@SEMICOLON@" text "${text}")

set(defined "")
function(define_function name type parameters body)
  if(text MATCHES "@llvm\\.${name}\\(")
    string(REGEX REPLACE "\ndeclare [^\n]*@llvm\\.${name}\\([^\n]*" "" text "${text}")
    string(REPLACE "@llvm.${name}(" "@tidemark.${name}(" text "${text}")
    set(text "${text}" PARENT_SCOPE)
    set(defined "${defined}\ndefine internal ${type} @tidemark.${name}(${parameters}) {\n${body}}\n" PARENT_SCOPE)
  endif()
endfunction()
foreach(t i32 i64)
  define_function("umul.with.overflow.${t}" "{ ${t}, i1 }" "${t} %a, ${t} %b"
                  "  %p = mul ${t} %a, %b
  %r = insertvalue { ${t}, i1 } undef, ${t} %p, 0
  %s = insertvalue { ${t}, i1 } %r, i1 false, 1
  ret { ${t}, i1 } %s
")
  define_function("usub.sat.${t}" ${t} "${t} %a, ${t} %b" "  %c = icmp ult ${t} %a, %b
  %d = sub ${t} %a, %b
  %r = select i1 %c, ${t} 0, ${t} %d
  ret ${t} %r
")
  foreach(name_and_order "umin ult" "umax ugt" "smin slt" "smax sgt")
    string(REPLACE " " ";" name_and_order "${name_and_order}")
    list(GET name_and_order 0 name)
    list(GET name_and_order 1 order)
    define_function("${name}.${t}" ${t} "${t} %a, ${t} %b" "  %c = icmp ${order} ${t} %a, %b
  %r = select i1 %c, ${t} %a, ${t} %b
  ret ${t} %r
")
  endforeach()
endforeach()

# It takes a small struct apart that is copied or cleared. Larger ones, and what has no constant size, are words here.
set(byte "i8*")
set(word "i64*")
if(text MATCHES "\\(ptr ")
  set(byte ptr)
  set(word ptr)
endif()
set(sizes "(%@?[^ ,\n]+|7[0-9]|[89][0-9]|[1-9][0-9][0-9]+)")
set(aligned "[^\n]*align (8|16|32|64|128) [^\n]*")
foreach(call "memcpy;copy" "memmove;copy" "memset;fill")
  list(GET call 0 from)
  list(GET call 1 to)
  string(REGEX REPLACE "@llvm\\.${from}\\.p0[a-z0-9.]*\\.i64\\((${aligned}, i64 ${sizes}, i1 false\\))"
                       "@tidemark.${to}(\\1" text "${text}")
endforeach()
set(head "  %rest = urem i64 %bytes, 8
  %whole = icmp eq i64 %rest, 0
  %n = udiv i64 %bytes, 8
  br i1 %whole, label %head, label %odd
odd:
  call void @__VERIFIER_assert_fail(${byte} null, ${byte} null, i32 0)
  unreachable
head:
  %i = phi i64 @OPENING@ 0, %entry @CLOSING@, @OPENING@ %next, %body @CLOSING@
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %end
body:
")
set(tail "  %next = add i64 %i, 1
  br label %head
end:
  ret void
")
if(text MATCHES "@tidemark\\.copy\\(")
  string(APPEND defined "\ndefine internal void @tidemark.copy(${byte} %to, ${byte} %from, i64 %bytes, i1 %v) {
entry:
  %a = bitcast ${byte} %to to ${word}
  %b = bitcast ${byte} %from to ${word}
  %forward = icmp ule ${byte} %to, %from
${head}  %left = sub i64 %n, %i
  %last = sub i64 %left, 1
  %at = select i1 %forward, i64 %i, i64 %last
  %p = getelementptr i64, ${word} %a, i64 %at
  %q = getelementptr i64, ${word} %b, i64 %at
  %x = load i64, ${word} %q, align 8
  store i64 %x, ${word} %p, align 8
${tail}}\n")
endif()
if(text MATCHES "@tidemark\\.fill\\(")
  string(APPEND defined "\ndefine internal void @tidemark.fill(${byte} %to, i8 %with, i64 %bytes, i1 %v) {
entry:
  %a = bitcast ${byte} %to to ${word}
  %c = zext i8 %with to i64
  %w = mul i64 %c, 72340172838076673
${head}  %p = getelementptr i64, ${word} %a, i64 %i
  store i64 %w, ${word} %p, align 8
${tail}}\n")
endif()
string(APPEND text "${defined}")
string(REPLACE "@OPENING@" "[" text "${text}")
string(REPLACE "@CLOSING@" "]" text "${text}")
string(REPLACE "@SEMICOLON@" ";" text "${text}")
file(WRITE "${code}" "${text}")
execute_process(COMMAND "${CLANG}" -x ir -S -emit-llvm "${code}" -o "${code}.read" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${code}.read")

string(REGEX MATCHALL "\ndeclare [^\n]*@[^\n(]+\\(" missing "${text}")
list(TRANSFORM missing REPLACE ".*@([^(]+)\\($" "\\1")
list(FILTER missing EXCLUDE REGEX "^(llvm\\.|__VERIFIER_)")
if(missing)
  list(JOIN missing ", " missing)
  message(STATUS "${CHECK}: must not be called, because GenMC does not have it: ${missing}")
endif()

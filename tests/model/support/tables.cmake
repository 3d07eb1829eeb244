# SPDX-License-Identifier: BSL-1.0
#
# Reads the tables of the model checks; README.md explains their columns. A wrong line stops CMake with its file and its
# number. Include it in a project or in a script.
#
#   read_programs(FILE)                 remembers each program: its room, its forms, the forms that are searched first
#   read_missing_forms(FILE)            each program has each form, or is named there with the reason why not
#   read_checks(FILE ROOM COMMAND)      calls COMMAND for each line, with the variables that are named below
#   read_twins(FILE ROOM COMMAND)       likewise
#   read_mutant(FILE ROOM)              sets the variables of one mutant

set(model_forms symmetric asymmetric pinned portable unfenced)

# Sets of forms, which the tables call by name.
set(model_forms_all symmetric asymmetric pinned portable)
set(model_forms_barriers symmetric asymmetric pinned)
set(model_forms_unpinned symmetric asymmetric portable)
set(model_forms_both symmetric asymmetric)
set(model_forms_log_forms symmetric asymmetric portable unfenced)

# What `.*` at the end of a check stands for.
set(model_shapes smallest two_levels in_lane beside_lane grown)

set(model_check_name "[a-z][a-z0-9_]*([.][a-z0-9_]+)*")

# ---- lines -----------------------------------------------------------------------------------------------------------

# Stops with the file and the number of the line that is being read.
function(fail_row text)
  message(FATAL_ERROR "${row_file}:${row_line}: ${text}")
endfunction()

# require_cell(COLUMN PATTERN "WHAT"): the cell must match the whole pattern.
function(require_cell column pattern what)
  if(NOT "${${column}}" MATCHES "^(${pattern})$")
    fail_row("'${${column}}' is no ${column}: it must be ${what}")
  endif()
endfunction()

# for_each_row(FILE "COLUMNS" COMMAND): calls COMMAND for each line that is neither empty nor a comment. Each column is
# a variable, and so are row_file and row_line.
function(for_each_row row_file columns command)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${row_file}")
  endif()
  # Brackets, semicolons and backslashes would shape the list of lines, so other characters stand for them meanwhile.
  string(ASCII 1 open)
  string(ASCII 2 close)
  string(ASCII 3 forbidden)
  file(READ "${row_file}" lines)
  string(REPLACE "[" "${open}" lines "${lines}")
  string(REPLACE "]" "${close}" lines "${lines}")
  string(REPLACE ";" "${forbidden}" lines "${lines}")
  string(REPLACE "\\" "${forbidden}" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  list(LENGTH columns column_count)
  list(JOIN columns " | " column_names)

  set(row_line 0)
  foreach(line IN LISTS lines)
    math(EXPR row_line "${row_line} + 1")
    if(line MATCHES "^ *(#|$)")
      continue()
    endif()
    if(line MATCHES "${forbidden}|[\"$]")
      fail_row("a line must not hold a semicolon, a backslash, a quotation mark or a dollar sign")
    endif()
    string(REPLACE "|" ";" cells "${line}")
    list(LENGTH cells cell_count)
    if(NOT cell_count EQUAL column_count)
      fail_row("a line has ${column_count} columns, ${column_names}, and this one has ${cell_count}")
    endif()
    foreach(column cell IN ZIP_LISTS columns cells)
      string(REPLACE "${open}" "[" cell "${cell}")
      string(REPLACE "${close}" "]" cell "${cell}")
      string(STRIP "${cell}" "${column}")
      if("${${column}}" STREQUAL "")
        fail_row("the column '${column}' is empty; - stands for nothing")
      endif()
    endforeach()
    cmake_language(CALL "${command}")
  endforeach()
endfunction()

# ---- what cells stand for --------------------------------------------------------------------------------------------

# expand_forms(OUT TEXT): the forms that a cell names, one by one or as a set.
function(expand_forms out text)
  set(forms "")
  string(REPLACE " " ";" words "${text}")
  list(REMOVE_ITEM words "")
  foreach(word IN LISTS words)
    if(word IN_LIST model_forms)
      list(APPEND forms "${word}")
    elseif(DEFINED "model_forms_${word}")
      list(APPEND forms ${model_forms_${word}})
    else()
      fail_row("there is no form and no set of forms '${word}'")
    endif()
  endforeach()
  set("${out}" "${forms}" PARENT_SCOPE)
endfunction()

# expand_checks(OUT TEXT): the names for which a pattern stands: {a,b} for each of its alternatives. A `.*` at the end
# has been taken off.
function(expand_checks out text)
  set(names "")
  set(left "${text}")
  while(left)
    list(POP_FRONT left pattern)
    if(NOT pattern MATCHES "^([^{}]*){([^{}]*)}(.*)$")
      list(APPEND names "${pattern}")
      continue()
    endif()
    set(before "${CMAKE_MATCH_1}")
    set(after "${CMAKE_MATCH_3}")
    string(REPLACE "," ";" alternatives "${CMAKE_MATCH_2}")
    set(expanded "")
    foreach(alternative IN LISTS alternatives)
      list(APPEND expanded "${before}${alternative}${after}")
    endforeach()
    list(PREPEND left ${expanded})
  endwhile()
  foreach(name IN LISTS names)
    if(NOT name MATCHES "^${model_check_name}$")
      fail_row("'${name}' is no name of a check")
    endif()
  endforeach()
  set("${out}" "${names}" PARENT_SCOPE)
endfunction()

# modes_of(BOUNDED RANDOM WHEN SHAPE FORM): the modes, quick or full, of the two searches of a check on one shape and
# form. The shape is empty where the check has no `.*`.
function(modes_of bounded_out random_out when shape form)
  set(bounded full)
  set(random full)
  if(when STREQUAL "quick" OR (when MATCHES "shape" AND shape STREQUAL "smallest"))
    set(bounded quick)
    set(random quick)
  elseif(when STREQUAL "random")
    set(random quick)
  elseif(when STREQUAL "bounded")
    set(bounded quick)
  elseif(form IN_LIST model_forms_both AND NOT shape STREQUAL "grown"
         AND (when STREQUAL "shapes" OR (when STREQUAL "three_shapes" AND NOT shape STREQUAL "beside_lane")))
    set(bounded quick)
  endif()
  set("${bounded_out}" "${bounded}" PARENT_SCOPE)
  set("${random_out}" "${random}" PARENT_SCOPE)
endfunction()

# ---- the tables ------------------------------------------------------------------------------------------------------

# About a program: get_program(OUT PROGRAM room|forms|first).
function(get_program out program what)
  get_property(value GLOBAL PROPERTY "model_program_${program}_${what}")
  set("${out}" "${value}" PARENT_SCOPE)
endfunction()

function(remember_program)
  require_cell(program "[a-z_]+" "the name of a source without .cpp")
  require_cell(room "[a-z]+" "a folder beside this table")
  expand_forms(forms "${forms}")
  expand_forms(first "${first}")
  foreach(form IN LISTS first)
    if(NOT form IN_LIST forms)
      fail_row("${program} is not built in the form ${form}, in which it is to be searched first")
    endif()
  endforeach()
  cmake_path(GET row_file PARENT_PATH folder)
  if(NOT EXISTS "${folder}/${room}/${program}.cpp")
    fail_row("there is no ${room}/${program}.cpp")
  endif()
  get_property(known GLOBAL PROPERTY model_programs)
  if(program IN_LIST known)
    fail_row("${program} stands here twice")
  endif()
  set_property(GLOBAL APPEND PROPERTY model_programs "${program}")
  foreach(what room forms first)
    set_property(GLOBAL PROPERTY "model_program_${program}_${what}" "${${what}}")
  endforeach()
endfunction()

function(read_programs file)
  for_each_row("${file}" "program;room;forms;first" remember_program)
endfunction()

# Notes that the programs are not built in these forms.
function(remember_missing_forms)
  expand_forms(forms "${forms}")
  string(REPLACE " " ";" programs "${programs}")
  list(REMOVE_ITEM programs "")
  get_property(known GLOBAL PROPERTY model_programs)
  foreach(program IN LISTS programs)
    if(NOT program IN_LIST known)
      fail_row("there is no program '${program}'")
    endif()
    get_program(built ${program} forms)
    get_program(missing ${program} missing)
    foreach(form IN LISTS forms)
      if(form IN_LIST built)
        fail_row("${program} is built in the form ${form}")
      endif()
      if(form IN_LIST missing)
        fail_row("another line names ${program} in the form ${form}")
      endif()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY "model_program_${program}_missing" ${forms})
  endforeach()
endfunction()

function(read_missing_forms file)
  for_each_row("${file}" "programs;forms;why" remember_missing_forms)
  get_property(known GLOBAL PROPERTY model_programs)
  foreach(program IN LISTS known)
    get_program(built ${program} forms)
    get_program(missing ${program} missing)
    foreach(form IN LISTS model_forms)
      if(NOT form IN_LIST built AND NOT form IN_LIST missing)
        message(FATAL_ERROR "${file}: no line says why ${program} is not built in the form ${form}")
      endif()
    endforeach()
  endforeach()
endfunction()

# The program must be one of this room and have these forms.
function(require_program forms)
  get_property(known GLOBAL PROPERTY model_programs)
  if(NOT program IN_LIST known)
    fail_row("there is no program '${program}' in programs.table")
  endif()
  get_program(its_room "${program}" room)
  if(NOT its_room STREQUAL table_room)
    fail_row("${program} belongs to the room ${its_room}")
  endif()
  get_program(built "${program}" forms)
  foreach(form IN LISTS forms)
    if(NOT form IN_LIST built)
      fail_row("${program} is not built in the form ${form}")
    endif()
  endforeach()
endfunction()

# Calls the command with the columns, and with
#   forms    a list
#   checks   a list, without the shapes
#   shapes   a list where the check ends in `.*`, else empty
#   rows     as it is written, or empty for -
function(check_row)
  expand_forms(forms "${forms}")
  require_program("${forms}")
  require_cell(bound "-|[1-9]" "a number from 1 to 9, or -")
  set(row_pattern "\\[([A-E][0-9]+|trap [0-9]+)\\]")
  require_cell(rows "-|${row_pattern}( ${row_pattern})*" "- or requirements like [A17] [trap 2]")
  set(search_pattern "([1-9]|random [1-9][0-9]*)")
  require_cell(first "-|${search_pattern}( / ${search_pattern})?"
               "- or a bound, or `random` and a number of executions, or two of these with a / between")
  set(shapes "")
  if(check MATCHES "^(.*)[.][*]$")
    set(shapes "${model_shapes}")
    set(check "${CMAKE_MATCH_1}")
    require_cell(when "quick|bounded|random|full|shapes|three_shapes"
                 "one of quick, bounded, random, full, shapes and three_shapes")
  else()
    require_cell(when "quick|bounded|random|full|extra"
                 "one of quick, bounded, random, full and extra where the check does not end in .*")
    require_cell(first "-|${search_pattern}" "- or one search where the check does not end in .*")
  endif()
  string(REPLACE " / " ";" first_searches "${first}")
  foreach(first_search IN LISTS first_searches)
    if(first_search MATCHES "^[1-9]$" AND first_search GREATER bound)
      fail_row("the first search has a greater bound than the other one")
    endif()
  endforeach()
  if(bound STREQUAL "-" AND NOT (when STREQUAL "random" AND first MATCHES "^random [0-9]+$"))
    fail_row("where there is no bound, all searches are random ones")
  endif()
  if(when STREQUAL "extra" AND NOT first STREQUAL "-")
    fail_row("an extra search is not the first one")
  endif()
  expand_checks(checks "${check}")
  if(rows STREQUAL "-")
    set(rows "")
  endif()
  cmake_language(CALL "${table_command}")
endfunction()

function(read_checks file table_room table_command)
  for_each_row("${file}" "program;check;bound;rows;forms;when;first" check_row)
endfunction()

# Calls the command with the columns, and with
#   how        random or bounded
#   amount     the bound, or the number of executions
#   weakening  as it is written, or empty for -
#   tag        the ordering tag in it
function(twin_row)
  require_program("${form}")
  require_cell(form "[a-z]+" "one form")
  require_cell(check "${model_check_name}" "the name of one check")
  require_cell(weakening "-|[A-Z]+[0-9]+=[a-z_:]+" "- or a tag and an order, such as F2=relaxed")
  require_cell(search "bound [1-9]|random [1-9][0-9]*"
               "a bound or a number of executions, such as `bound 3` or `random 200000`")
  string(REGEX MATCH "^([a-z]+) ([0-9]+)$" ignored "${search}")
  set(how "${CMAKE_MATCH_1}")
  set(amount "${CMAKE_MATCH_2}")
  string(REGEX MATCH "^[A-Z]+[0-9]+" tag "${weakening}")
  if(weakening STREQUAL "-")
    set(weakening "")
  endif()
  cmake_language(CALL "${table_command}")
endfunction()

function(read_twins file table_room table_command)
  for_each_row("${file}" "what;program;form;check;weakening;search" twin_row)
endfunction()

# Sets program, form, check and bound.
function(read_mutant row_file table_room)
  set(row_line 1)
  file(READ "${row_file}" recipe)
  if(NOT recipe MATCHES "\nfile: ([^\n]+)\n")
    fail_row("the mutant has no line `file: HEADER`")
  endif()
  set(file "${CMAKE_MATCH_1}")
  if(NOT recipe MATCHES "\nprogram: ([a-z_]+) ([a-z]+)\ncheck: (${model_check_name}): bound ([1-9])\n")
    fail_row("the mutant has no lines `program: PROGRAM FORM` and `check: CHECK: bound N`")
  endif()
  set(program "${CMAKE_MATCH_1}")
  set(form "${CMAKE_MATCH_2}")
  set(check "${CMAKE_MATCH_3}")
  set(bound "${CMAKE_MATCH_5}")
  require_program("${form}")
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${row_file}")
  endif()
  foreach(variable file program form check bound)
    set("${variable}" "${${variable}}" PARENT_SCOPE)
  endforeach()
endfunction()

# The functions the CMakeLists of the folders are written with.

# pawl_layer(<name> SOURCES <file>... [BELOW <layer>...] [USES <library>...])
#
#   pawl_layer(store
#       SOURCES store.c load.c sqlite.c
#       BELOW core base
#       USES SQLite::SQLite3)
#
# makes the object library pawl_<name>. BELOW names the layers whose headers it may include; they
# must stand before it in src/layers.txt. USES names libraries from outside, which then follow the
# layer into every program that links it.
function(pawl_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;BELOW;USES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "pawl_layer(${name} SOURCES … [BELOW …] [USES …])")
    endif()
    file(STRINGS "${PROJECT_SOURCE_DIR}/src/layers.txt" layers REGEX "^[a-z]")
    list(FIND layers ${name} own_rank)
    if(own_rank EQUAL -1)
        message(FATAL_ERROR "${name} is no layer: src/layers.txt does not list it")
    endif()

    add_library(pawl_${name} OBJECT ${arg_SOURCES})
    set_target_properties(pawl_${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF)
    target_include_directories(pawl_${name} PUBLIC
        "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(pawl_${name} PRIVATE pawl_flags PUBLIC Threads::Threads m ${CMAKE_DL_LIBS}
        ${arg_USES})

    # All layers below, each once: linking an object library brings its own objects only.
    set(all_below "")
    foreach(layer IN LISTS arg_BELOW)
        list(FIND layers ${layer} rank)
        if(rank EQUAL -1 OR NOT rank LESS own_rank)
            message(FATAL_ERROR "${name} may not use ${layer}: it is not below (src/layers.txt)")
        endif()
        if(NOT TARGET pawl_${layer})
            message(FATAL_ERROR "${name} needs the layer ${layer}, which has no CMakeLists.txt yet")
        endif()
        target_link_libraries(pawl_${name} PUBLIC pawl_${layer})
        get_target_property(lower pawl_${layer} PAWL_BELOW)
        list(APPEND all_below ${layer} ${lower})
    endforeach()
    list(REMOVE_DUPLICATES all_below)
    set_target_properties(pawl_${name} PROPERTIES PAWL_BELOW "${all_below}")
endfunction()

# pawl_generate_statements(<target> <file.sql>)
#
#   pawl_generate_statements(pawl_store statements.sql)    in src/store, after pawl_layer(store …)
#
# adds the SQL of the file to the target; #include "store/statements.h" then gives enum
# pawl_statement and the three arrays. The format is told in tools/sql_to_c.
function(pawl_generate_statements target file)
    set(folder "${PROJECT_BINARY_DIR}/generated/store")
    file(MAKE_DIRECTORY "${folder}")
    set(tool "${PROJECT_SOURCE_DIR}/tools/sql_to_c")
    add_custom_command(
        OUTPUT "${folder}/statements.h" "${folder}/statements.c"
        COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C awk -f "${tool}"
            "header=${folder}/statements.h" "source=${folder}/statements.c"
            "${CMAKE_CURRENT_SOURCE_DIR}/${file}"
        DEPENDS "${file}" "${tool}"
        COMMENT "SQL to C: ${file}"
        VERBATIM)
    target_sources(${target} PRIVATE "${folder}/statements.c" "${folder}/statements.h")
    target_include_directories(${target} PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()

# pawl_generate_schema(<target> <NNNN.store.sql>...)
#
#   pawl_generate_schema(pawl_store
#       schema/0001.sqlite.sql schema/0001.postgres.sql
#       schema/0002.sqlite.sql schema/0002.postgres.sql)
#
# adds the files to the target; #include "store/schema_text.h" then gives pawl_schema_sqlite[] and
# pawl_schema_postgres[], each of pawl_schema_count texts, number 0001 first. The numbers must run
# from 0001 without a gap and each must be there for both stores.
function(pawl_generate_schema target)
    set(folder "${PROJECT_BINARY_DIR}/generated/store")
    file(MAKE_DIRECTORY "${folder}")
    set(tool "${PROJECT_SOURCE_DIR}/tools/file_to_c")
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
    add_custom_command(
        OUTPUT "${folder}/schema_text.h" "${folder}/schema_text.c"
        COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C awk -f "${tool}"
            "header=${folder}/schema_text.h" "source=${folder}/schema_text.c" ${files}
        DEPENDS ${files} "${tool}"
        COMMENT "Schema to C"
        VERBATIM)
    target_sources(${target} PRIVATE "${folder}/schema_text.c" "${folder}/schema_text.h")
    target_include_directories(${target} PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()

# pawl_link_layers(<program> <layer>...) links the layers and all below them into a program.
function(pawl_link_layers program)
    set(all ${ARGN})
    foreach(layer IN LISTS ARGN)
        get_target_property(lower pawl_${layer} PAWL_BELOW)
        list(APPEND all ${lower})
    endforeach()
    list(REMOVE_DUPLICATES all)
    list(TRANSFORM all PREPEND pawl_)
    target_link_libraries(${program} PRIVATE ${all})
endfunction()

# pawl_test(<name> SOURCES <file>... [LAYERS <layer>...] [USES <library>...] [LABELS <label>...]
#           [ARGS <arg>...] [SERIAL])
#
#   pawl_test(retry_test SOURCES retry_test.c LAYERS core)
#   pawl_test(ring_test SOURCES ring_test.c LAYERS engine LABELS threads)
#
# makes a program of tests/test.h tests and registers it in CTest under its name. It links the
# layers named and all below them. The label `threads` has it run under the thread sanitizer too;
# SERIAL keeps other tests from running beside it. With a layer that is not there yet, it is left out.
function(pawl_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "" "SOURCES;LAYERS;USES;LABELS;ARGS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "pawl_test(${name} SOURCES … [LAYERS …] …): ${arg_UNPARSED_ARGUMENTS}?")
    endif()
    if(NOT TARGET pawl_test_page)
        return() # tests are off
    endif()
    foreach(layer IN LISTS arg_LAYERS)
        if(NOT TARGET pawl_${layer})
            message(STATUS "Test ${name} waits for the layer ${layer}")
            return()
        endif()
    endforeach()
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_EXTENSIONS OFF)
    pawl_link_layers(${name} ${arg_LAYERS})
    target_link_libraries(${name} PRIVATE pawl_flags pawl_test_page Threads::Threads m
        SQLite::SQLite3 ${CMAKE_DL_LIBS} ${arg_USES})
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" RUN_SERIAL ${arg_SERIAL})
endfunction()

# pawl_script_test(<name> <script> [LABELS <label>...] [SERIAL])
#
# registers a shell script written with tests/checks/lib.sh. It finds the build in $PAWL_BUILD, the
# compiler in $CC, and runs in the top folder of the tree.
function(pawl_script_test name script)
    cmake_parse_arguments(PARSE_ARGV 2 arg "SERIAL" "" "LABELS")
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${script}")
    add_test(NAME ${name} COMMAND sh "${path}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set(environment "PAWL_TEST_PROGRAM=${name}" "PAWL_BUILD=${PROJECT_BINARY_DIR}"
        "CC=${CMAKE_C_COMPILER}" "PAWL_LIBPQ_INCLUDE=${PAWL_LIBPQ_INCLUDE}")
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" RUN_SERIAL ${arg_SERIAL}
        ENVIRONMENT "${environment}")
endfunction()

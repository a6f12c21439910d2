# The program `pawl`: main.c, the layers app, worker, wire and import, and the library.
add_executable(pawl_program src/app/main.c)
set_target_properties(pawl_program PROPERTIES
    OUTPUT_NAME pawl POSITION_INDEPENDENT_CODE ON C_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_include_directories(pawl_program PRIVATE include src)
target_link_libraries(pawl_program PRIVATE pawl_flags pawl_app pawl_net pawl_client pawl_import pawl_wire pawl_worker pawl_static)

# Its manual pages and completions are what it prints itself, so a program for another machine brings
# them only where that machine can be imitated.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(share "${PROJECT_BINARY_DIR}/share")
    add_custom_command(
        OUTPUT "${share}/man/man1/pawl.1"
        COMMAND sh "${PROJECT_SOURCE_DIR}/tools/write_pages"
            "$<TARGET_FILE:pawl_program>" "${share}"
        DEPENDS pawl_program "${PROJECT_SOURCE_DIR}/tools/write_pages"
        COMMENT "Manual pages and completions"
        VERBATIM)
    add_custom_target(pawl_pages ALL DEPENDS "${share}/man/man1/pawl.1")
endif()

if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS pawl_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
    if(TARGET pawl_pages)
        install(DIRECTORY "${share}/" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}" COMPONENT program)
    endif()

    # Workers and the server as services. systemd looks below /usr and /usr/local; elsewhere the files lie still.
    set(units "${PROJECT_SOURCE_DIR}/packaging/systemd")
    foreach(unit pawl-worker@ pawl-server)
        configure_file("${units}/${unit}.service.in" ${unit}.service.in COPYONLY)
        install(CODE "
            file(READ \"${PROJECT_BINARY_DIR}/${unit}.service.in\" text)
            string(REPLACE @bindir@ \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" text \"\${text}\")
            file(WRITE \"${PROJECT_BINARY_DIR}/${unit}.service\" \"\${text}\")
            " COMPONENT program)
        install(FILES "${PROJECT_BINARY_DIR}/${unit}.service"
            DESTINATION lib/systemd/system COMPONENT program)
    endforeach()
    install(FILES "${units}/sysusers.conf" DESTINATION lib/sysusers.d RENAME pawl.conf
        COMPONENT program)
    install(FILES "${units}/mail.conf" "${units}/server.conf" DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples"
        COMPONENT program)
endif()

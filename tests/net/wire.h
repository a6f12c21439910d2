/* Requests and answers as text: cases that are sent to a real server as raw bytes, and what comes
 * back is compared.
 *
 *   = name of the case      a connection of its own
 *   # a comment
 *   > text                  is sent; \r \n \t \\ \xHH are escapes, and a line break of the file is
 *                           none
 *   *N text                 the same, N times
 *   + Name: value           a header of the next request that is written so:
 *   @ VERB PATH BODY        a whole request; the body is the rest of the line
 *   < 400                   an answer with this status
 *   h Name: value           the answer just read has this line, or one that fits the pattern
 *   n Name                  it has no such header
 *   b pattern               its body (of fnmatch)
 *   t text                  its body is this text
 *   j JSON                  its body has all this: members of objects, all of an array in order,
 *                           values as they are written; "*" is anything, "~x*" a pattern for a text
 *   k a b c                 its body, or the first object of it, has exactly these members
 *   v NAME                  its body is kept, and stands for {{NAME}} from here on
 *   v NAME member           the same of a member, or of the first object's
 *   head                    the next answer is to HEAD: no body follows
 *   closed                  the server has closed
 *   open                    it has not: one more request is answered
 */
#ifndef PAWL_TESTS_NET_WIRE_H
#define PAWL_TESTS_NET_WIRE_H

#include "served.h"

struct wire_case {
    const char *path; /* of its file */
    char *name;
    char *text; /* its lines */
};

/* Gives each case of the files that fit the pattern; the cases stay. */
void wire_load(const char *pattern, void (*add)(struct wire_case *wire));

/* Says the lines of a case to a server, of which only the port is used. */
void wire_run(const struct wire_case *wire, const struct served *served);

#endif

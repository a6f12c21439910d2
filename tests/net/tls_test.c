/* HTTPS, as a client of OpenSSL sees it. */
#include "base/str.h"
#include "net/tls.h"
#include "served.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_MAX_BYTES = 256, BODY_BYTES = 32 * 1024 * 1024 /* of GET /large */ };

static char folder[PATH_MAX_BYTES];
static char certificate[PATH_MAX_BYTES + 8];
static char key[PATH_MAX_BYTES + 8];

/* A certificate that signs itself, in two files. */
static void make_files(const char *name)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    CHECK(pair != NULL && x509 != NULL);
    CHECK_EQ(1, ASN1_INTEGER_set(X509_get_serialNumber(x509), 1));
    CHECK(X509_gmtime_adj(X509_getm_notBefore(x509), 0) != NULL);
    CHECK(X509_gmtime_adj(X509_getm_notAfter(x509), 3600) != NULL);
    CHECK_EQ(1, X509_set_pubkey(x509, pair));
    X509_NAME *subject = X509_get_subject_name(x509);
    CHECK_EQ(1, X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                           (const unsigned char *)"localhost", -1, -1, 0));
    CHECK_EQ(1, X509_set_issuer_name(x509, subject));
    CHECK(X509_sign(x509, pair, EVP_sha256()) > 0);
    (void)snprintf(certificate, sizeof certificate, "%.240s/%s.crt", folder, name);
    (void)snprintf(key, sizeof key, "%.240s/%s.key", folder, name);
    FILE *file = fopen(certificate, "we");
    CHECK(file != NULL && PEM_write_X509(file, x509) == 1 && fclose(file) == 0);
    file = fopen(key, "we");
    CHECK(file != NULL && PEM_write_PrivateKey(file, pair, NULL, NULL, 0, NULL, NULL) == 1 &&
          fclose(file) == 0);
    X509_free(x509);
    EVP_PKEY_free(pair);
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.200s/pawl-test-tls-XXXXXX",
                   tmp != NULL ? tmp : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
}

static void remove_files(void)
{
    (void)unlink(certificate);
    (void)unlink(key);
}

struct house {
    struct served served;
    struct pawl_tls *tls;
};

static void house_open(struct house *house)
{
    struct pawl_error err = {0};
    make_folder();
    make_files("one");
    CHECK_OK(pawl_tls_open(&house->tls, certificate, key, &err), &err);
    const struct pawl_server_options options = {.tls = house->tls};
    served_open(&house->served, &options);
    CHECK(strncmp(pawl_server_address(house->served.server, 0), "https://", 8) == 0);
}

static void house_close(struct house *house)
{
    served_close(&house->served);
    pawl_tls_close(house->tls);
    remove_files();
    CHECK_EQ(0, rmdir(folder));
}

struct client {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

static void client_begin(struct client *client, const struct house *house)
{
    client->context = SSL_CTX_new(TLS_client_method());
    client->ssl = SSL_new(client->context);
    client->fd = client_open(&house->served);
    CHECK_EQ(1, SSL_set_fd(client->ssl, client->fd));
    CHECK_EQ(1, SSL_connect(client->ssl));
}

static void client_end(struct client *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->context);
    (void)close(client->fd);
}

static void client_write(struct client *client, const char *text)
{
    CHECK_EQ((int)strlen(text), SSL_write(client->ssl, text, (int)strlen(text)));
}

/* Reads the head of an answer and its body by its length; the body is dropped, but for its first
 * bytes. */
static size_t client_take(struct client *client, char *first, size_t room)
{
    static char head[4096];
    size_t len = 0;
    while (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0) {
        CHECK(len + 1 < sizeof head);
        CHECK_EQ(1, SSL_read(client->ssl, head + len, 1));
        len++;
    }
    head[len] = '\0';
    CHECK(strncmp(head, "HTTP/1.1 200 ", 13) == 0);
    const char *length = strstr(head, "Content-Length: ");
    CHECK(length != NULL);
    size_t wanted = strtoul(length + 16, NULL, 10);
    static char bytes[16 * 1024];
    for (size_t got = 0; got < wanted;) {
        size_t most = wanted - got < sizeof bytes ? wanted - got : sizeof bytes;
        int count = SSL_read(client->ssl, bytes, (int)most);
        CHECK(count > 0);
        if (got == 0)
            (void)snprintf(first, room, "%.*s", count < (int)room ? count : (int)room - 1, bytes);
        got += (size_t)count;
    }
    return wanted;
}

TEST("requests follow each other on one connection, and what is sent ahead waits")
{
    struct house house;
    struct client client;
    char body[32] = "";
    house_open(&house);
    client_begin(&client, &house);
    for (int i = 0; i < 3; i++) {
        client_write(&client, "GET /v1/names/one HTTP/1.1\r\nHost: localhost\r\n\r\n");
        CHECK_EQ(3, client_take(&client, body, sizeof body));
        CHECK_STR("one", pawl_str_of(body));
    }
    /* two in one record, and one in two */
    client_write(&client, "GET /v1/names/two HTTP/1.1\r\nHost: localhost\r\n\r\n"
                          "GET /v1/names/three HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client_write(&client, "GET /v1/names/four HTTP/1.1\r\nHo");
    client_write(&client, "st: localhost\r\n\r\n");
    (void)client_take(&client, body, sizeof body);
    CHECK_STR("two", pawl_str_of(body));
    (void)client_take(&client, body, sizeof body);
    CHECK_STR("three", pawl_str_of(body));
    (void)client_take(&client, body, sizeof body);
    CHECK_STR("four", pawl_str_of(body));
    client_end(&client);
    house_close(&house);
}

TEST("a large answer is sealed in parts and comes whole; the end of the connection is told")
{
    struct house house;
    struct client client;
    char body[32] = "";
    char byte = 0;
    house_open(&house);
    client_begin(&client, &house);
    client_write(&client, "GET /v1/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    CHECK_EQ(BODY_BYTES, client_take(&client, body, sizeof body));
    CHECK_EQ('x', body[0]);
    CHECK_EQ(SSL_ERROR_ZERO_RETURN, SSL_get_error(client.ssl, SSL_read(client.ssl, &byte, 1)));
    client_end(&client);
    house_close(&house);
}

TEST("what is no TLS is closed, and harms nobody else")
{
    static const char *const rows[] = {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\x16\x03\x01\xff\xff nonsense behind the head of a record",
        "\x80\x2e\x01\x03\x01",
        "",
    };
    struct house house;
    struct client client;
    char body[32] = "";
    house_open(&house);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int fd = client_open(&house.served);
        client_send(fd, rows[i], strlen(rows[i]));
        (void)shutdown(fd, SHUT_WR);
        char byte = 0;
        while (read(fd, &byte, 1) > 0) continue; /* an alert, or nothing */
        (void)close(fd);
    }
    client_begin(&client, &house);
    client_write(&client, "GET /v1/names/one HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)client_take(&client, body, sizeof body);
    CHECK_STR("one", pawl_str_of(body));
    client_end(&client);
    house_close(&house);
}

TEST("a client that does not finish its handshake is closed in time")
{
    struct served served;
    struct pawl_tls *tls = NULL;
    struct pawl_error err = {0};
    make_folder();
    make_files("one");
    CHECK_OK(pawl_tls_open(&tls, certificate, key, &err), &err);
    const struct pawl_server_options options = {.tls = tls, .headers_ms_max = 50};
    served_open(&served, &options);
    int fd = client_open(&served);
    client_send(fd, "\x16\x03\x01", 3);
    CHECK(client_is_closed(fd));
    (void)close(fd);
    served_close(&served);
    pawl_tls_close(tls);
    remove_files();
    CHECK_EQ(0, rmdir(folder));
}

TEST("files that are no certificate, no key, or not of each other are refused by name")
{
    char other_key[sizeof key];
    struct pawl_tls *tls = NULL;
    struct pawl_error err = {0};
    make_folder();
    make_files("one");
    memcpy(other_key, key, sizeof key);
    CHECK_CODE(PAWL_INVALID, pawl_tls_open(&tls, "/no/such/file", key, &err));
    CHECK(strncmp(err.text, "--tls-cert: /no/such/file", 25) == 0);
    CHECK_CODE(PAWL_INVALID, pawl_tls_open(&tls, key, key, &err));
    CHECK(strncmp(err.text, "--tls-cert", 10) == 0);
    CHECK_CODE(PAWL_INVALID, pawl_tls_open(&tls, certificate, certificate, &err));
    CHECK(strncmp(err.text, "--tls-key", 9) == 0);
    char first[sizeof certificate];
    memcpy(first, certificate, sizeof certificate);
    make_files("two");
    CHECK_CODE(PAWL_INVALID, pawl_tls_open(&tls, first, key, &err));
    CHECK(strncmp(err.text, "--tls-key", 9) == 0);
    remove_files();
    CHECK_EQ(0, unlink(first));
    CHECK_EQ(0, unlink(other_key));
    CHECK_EQ(0, rmdir(folder));
}

TEST_MAIN()

/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/redis_socket.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

static int read_password(const char *path, char *out, size_t size, char *err, size_t err_size)
{
	FILE *f = fopen(path, "re");
	const bool read = f != NULL && fgets(out, (int)size, f) != NULL;
	const int error = errno;

	if (f != NULL)
		fclose(f);
	if (!read) {
		snprintf(err, err_size,
			"fleet.state.password_file: %s cannot be read: %s; expected a file whose "
			"first line is the password",
			path, f == NULL ? strerror(error) : "it is empty");
		return -1;
	}
	if (strlen(out) == size - 1 && out[size - 2] != '\n') {
		snprintf(err, err_size,
			"fleet.state.password_file: the first line of %s is too long; expected at "
			"most %zu bytes",
			path, size - 2);
		return -1;
	}
	out[strcspn(out, "\r\n")] = '\0';
	return 0;
}

static int tls_error(char *err, size_t err_size, const char *setting, const char *path)
{
	char reason[160];

	ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
	ERR_clear_error();
	snprintf(err, err_size, "fleet.state.tls.%s: %s cannot be used: %s; expected a PEM file",
		setting, path, reason);
	return -1;
}

static int init_tls(struct bp_redis_socket *s, const struct bp_config_fleet_state *c, char *err,
	size_t err_size)
{
	s->tls = SSL_CTX_new(TLS_client_method());
	if (s->tls == NULL) {
		snprintf(err, err_size, "no memory for TLS");
		return -1;
	}
	SSL_CTX_set_min_proto_version(s->tls, TLS1_2_VERSION);
	SSL_CTX_set_verify(s->tls, SSL_VERIFY_PEER, NULL);
	if (c->ca_file[0] == '\0')
		SSL_CTX_set_default_verify_paths(s->tls);
	else if (SSL_CTX_load_verify_file(s->tls, c->ca_file) != 1)
		return tls_error(err, err_size, "ca", c->ca_file);
	if (c->cert_file[0] != '\0' &&
		SSL_CTX_use_certificate_chain_file(s->tls, c->cert_file) != 1)
		return tls_error(err, err_size, "cert", c->cert_file);
	if (c->key_file[0] != '\0' &&
		SSL_CTX_use_PrivateKey_file(s->tls, c->key_file, SSL_FILETYPE_PEM) != 1)
		return tls_error(err, err_size, "key", c->key_file);
	return 0;
}

int bp_redis_socket_init(struct bp_redis_socket *s, const struct bp_config_fleet_state *c,
	char *err, size_t err_size)
{
	memset(s, 0, sizeof(*s));
	if (c->password_file[0] != '\0' && read_password(c->password_file, s->password,
						   sizeof(s->password), err, err_size) != 0)
		return -1;
	return c->redis.tls ? init_tls(s, c, err, err_size) : 0;
}

void bp_redis_socket_end(struct bp_redis_socket *s)
{
	SSL_CTX_free(s->tls);
	OPENSSL_cleanse(s->password, sizeof(s->password));
}

static socklen_t to_sockaddr(
	const struct bp_address *a, uint16_t tcp_port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (a->family == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(tcp_port);
		memcpy(&v4->sin_addr, a->bytes, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(tcp_port);
	memcpy(&v6->sin6_addr, a->bytes, 16);
	return sizeof(*v6);
}

/* The certificate must be for this address. */
static struct bufferevent *new_tls(
	struct bp_redis_socket *s, struct event_base *base, const struct bp_address *address)
{
	SSL *ssl = SSL_new(s->tls);
	struct bufferevent *bev = NULL;

	if (ssl != NULL && X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), address->bytes,
				   address->family == 4 ? 4 : 16) == 1)
		bev = bufferevent_openssl_socket_new(
			base, -1, ssl, BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
	if (bev == NULL)
		SSL_free(ssl);
	return bev;
}

struct bufferevent *bp_redis_socket_open(struct bp_redis_socket *s, struct event_base *base,
	const struct bp_address *address, uint16_t tcp_port)
{
	struct bufferevent *bev = s->tls != NULL
					  ? new_tls(s, base, address)
					  : bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	struct sockaddr_storage to;
	const socklen_t len = to_sockaddr(address, tcp_port, &to);
	const int one = 1;

	if (bev == NULL)
		return NULL;
	if (bufferevent_socket_connect(bev, (struct sockaddr *)&to, (int)len) != 0) {
		bufferevent_free(bev);
		return NULL;
	}
	setsockopt(bufferevent_getfd(bev), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return bev;
}

void bp_redis_socket_close(struct bufferevent *bev)
{
	bufferevent_free(bev);
}

void bp_redis_socket_error(struct bufferevent *bev, char *text, size_t size)
{
	const unsigned long tls = bufferevent_get_openssl_error(bev);
	SSL *ssl = bufferevent_openssl_get_ssl(bev);
	const long verify = ssl != NULL ? SSL_get_verify_result(ssl) : X509_V_OK;

	if (verify != X509_V_OK)
		snprintf(text, size, "TLS: %s", X509_verify_cert_error_string(verify));
	else if (tls != 0)
		ERR_error_string_n(tls, text, size);
	else
		snprintf(text, size, "%s", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
}

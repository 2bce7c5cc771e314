// certificate.h - certificates instead of keys; internal to this folder.
#pragma once

#include "net/link/tls.h"

bool certificate_is_text(const char *text, size_t size);  // not lines of keys
// The key of such a text, with its role and id. False: there is nothing to release.
bool certificate_key(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error);
// Makes a context present this certificate, and trust the authorities in the same text.
bool certificate_use(struct tls_context *context, const char *pem, struct link_error *error);
bool certificate_identity(const struct tls_library *library, const X509 *certificate,
                          struct certificate_identity *who);
// The identity of the other side, if its certificate is valid. False: it is not.
bool certificate_peer(const struct tls *tls, struct certificate_identity *who);
const char *certificate_fault(const struct tls *tls);  // why it is invalid, or null

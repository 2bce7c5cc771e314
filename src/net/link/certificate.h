// certificate.h - certificates instead of keys; seen by the files of this folder only.
#pragma once

#include "net/link/tls.h"

bool certificate_is_text(const char *text, size_t size);  // and no lines of keys
// The one key of such a text, with role and id as it says. False: there is nothing to release.
bool certificate_key(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error);
// A context that shows this certificate, and believes the authorities that are with it.
bool certificate_use(struct tls_context *context, const char *pem, struct link_error *error);
bool certificate_who(const struct tls_library *library, const X509 *certificate,
                     struct certificate_who *who);
// Who the other side is, once its certificate is known to be good. False: it is not.
bool certificate_peer(const struct tls *tls, struct certificate_who *who);
const char *certificate_fault(const struct tls *tls);  // what is wrong with it; null: nothing

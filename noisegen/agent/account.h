/* The certificate: what was switched, how well, and what it used. Keys: docs/reference/formats.md. */
#pragma once

#include "noisegen/agent/session.h"

/* As JSON in one line, to be freed by the caller; NULL without memory. */
char *na_certificate(const struct na_session *session);

/* Adds a half's figures to a sum: unknown ones make the sum unknown. */
void na_account_add(struct nl_agent_account *sum, const struct nl_agent_account *half);

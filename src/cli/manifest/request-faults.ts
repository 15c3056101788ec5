/** The codes of errors that say: the authority that issued the certificate is not trusted here. */
const UNKNOWN_AUTHORITY = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/;
/** The codes of errors about a certificate, such as CERT_HAS_EXPIRED and ERR_TLS_CERT_ALTNAME_INVALID. */
const CERTIFICATE = /CERT/;

/** Returns the code of the error that failed a request, or its message if it has no code. `fetch` hides it in a chain of causes. */
export function causeOf(error: unknown): string {
  const { cause, code, message } = error as Error & { code?: unknown };
  if (cause !== undefined) return causeOf(cause);
  return typeof code === 'string' ? code : message;
}

/** Describes in one sentence that the certificate of an address was refused; null if the request failed on something else. */
export function certificateFault(url: string, error: unknown): string | null {
  const code = causeOf(error);
  if (UNKNOWN_AUTHORITY.test(code))
    return `${url} has a certificate of an unknown authority (${code}): correct it, or name the file of the authority in NODE_EXTRA_CA_CERTS.`;
  return CERTIFICATE.test(code)
    ? `${url} has a certificate that is not valid (${code}): correct it, or the address.`
    : null;
}

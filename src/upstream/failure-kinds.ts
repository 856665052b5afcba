/** Every kind of failed upstream call, with its meaning; `status_404` and the like are made from the status. */
export const failureKinds = {
  billing: "The provider account is out of credit or over its spending limit.",
  bad_certificate: "The provider's certificate is not trusted.",
  cancelled: "The client disconnected, or the gateway ended the request, before a response.",
  connection_closed: "The provider closed the connection without a response.",
  context_length: "The input exceeds the model's context window.",
  error_in_200: "The provider sent an error with status 200.",
  error_response: "The provider reported a failed response before any output.",
  expired_certificate: "The provider's certificate has expired.",
  incomplete_response: "The provider closed the connection before the response was complete.",
  interrupted_response: "The response failed after it had started.",
  invalid_response: "The response has the wrong content type or invalid JSON, or is a redirect.",
  malformed_http: "The response is not valid HTTP.",
  no_credential: "The host that issues credentials failed.",
  not_sent: "The request could not be translated for this deployment.",
  timeout: "The provider took too long.",
  unreachable: "No connection: refused, unknown host, failed TLS handshake or timeout.",
} as const;

export type FailureKind = keyof typeof failureKinds | `status_${number}`;

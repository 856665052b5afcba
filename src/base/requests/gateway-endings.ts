/** Messages for clients where the gateway itself ends a request. `requests show` finds its advice by the same text. */

export const internalError = "Internal gateway error. Contact the operator and quote the request id.";
export const shuttingDown = "The gateway is shutting down.";
export const tookTooLong = "The provider took too long to respond.";

/** What a client is told where the gateway itself ends an exchange. Operators get its explanation by the same words. */

export const shuttingDown = "The gateway is shutting down.";
export const tookTooLong = "The provider took too long to respond.";

import { GatewayError, invalidRequest } from "../base/errors.ts";
import type { RequestKind } from "../dialects/schema/validate.ts";
import type { BodyReservation } from "../limits/body-budget.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { type BodyLimit, readBody } from "./read-body.ts";
import { ClientRequest, checkRequest, expectedOf } from "./request.ts";

/** Reads and checks the body of an admitted call. Its memory counts against the budget until that is done. */
export async function readRequest(
  gateway: Gateway,
  { call }: Exchange,
  key: KeyRecord,
  kind: RequestKind,
): Promise<ClientRequest> {
  const reservation = gateway.bodies.reserve(key.id);
  try {
    const { maxBodyBytes, structure } = gateway.configured.settings.server;
    const bytes = await readBody(call.request, new ClientBodyLimit(maxBodyBytes, reservation));
    return new ClientRequest(bytes, checkRequest(bytes, expectedOf(call, kind, structure)));
  } finally {
    reservation.release();
  }
}

class ClientBodyLimit implements BodyLimit {
  readonly maxBytes: number;
  readonly #reservation: BodyReservation;

  constructor(maxBytes: number, reservation: BodyReservation) {
    this.maxBytes = maxBytes;
    this.#reservation = reservation;
  }

  tooLarge(): Error {
    return invalidRequest(`The request body is too large; at most ${this.maxBytes} bytes are accepted.`);
  }

  take(bytes: number): void {
    if (this.#reservation.grow(bytes)) return;
    throw new GatewayError(
      "service_unavailable",
      "The gateway is reading as many large requests as its memory allows; try again shortly.",
    );
  }
}

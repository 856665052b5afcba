import { assert } from "../../base/assert.ts";
import { clientClosedRequest, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { isAbandoned, settleAbandoned } from "./abandoned.ts";
import type { CostMeter } from "./cost-meter.ts";
import { holdFor, type WantedHold } from "./hold.ts";
import { reserveTokens } from "./reserve-tokens.ts";

/**
 * The frame around money, for every route that charges: take tokens of the minute, hold, run, settle or release, exactly once.
 *
 * `run` gets the cost meter and reads from its answer what was used. It either settles the meter before it returns or, for
 * a stream, leaves it to the pump of the exchange, which settles it when the stream ends. If `run` throws, nothing is
 * charged, unless the client has disconnected from a call that the provider may bill (abandoned.ts). What is not settled by
 * the end of the exchange is released there (end-exchange.ts).
 */
export async function charged<Answer>(
  gateway: Gateway,
  exchange: Exchange,
  wanted: WantedHold,
  run: (meter: CostMeter) => Promise<Answer>,
): Promise<Answer> {
  assert(exchange.hold === null, "an exchange has one hold");
  const reserving = reserveTokens(gateway, exchange, wanted);
  if (reserving !== undefined) await reserving;
  const holding = holdFor(gateway, exchange, wanted);
  const meter = holding instanceof Promise ? await holding : holding;
  try {
    const answer = await run(meter);
    assert(!meter.isOpen || exchange.pump !== null, "an answer leaves unpaid");
    return answer;
  } catch (error) {
    try {
      if (meter.isOpen && isAbandoned(exchange)) {
        await settleAbandoned(gateway, meter, wanted, exchange.answeredWith(clientClosedRequest));
      }
    } finally {
      meter.release();
    }
    throw error;
  }
}

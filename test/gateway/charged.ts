import type { CostMeter } from "../../src/gateway/charge/cost-meter.ts";
import { holdFor, settledOrReleased, type WantedHold } from "../../src/gateway/charge/hold.ts";
import { reserveTokens } from "../../src/gateway/charge/reserve-tokens.ts";
import type { Exchange } from "../../src/gateway/exchange/exchange.ts";
import type { Gateway } from "../../src/gateway/exchange/gateway.ts";

/** The steps around money that every charged route has. */
export async function charged<Answer>(
  gateway: Gateway,
  exchange: Exchange,
  wanted: WantedHold,
  run: (meter: CostMeter) => Promise<Answer>,
): Promise<Answer> {
  await reserveTokens(gateway, exchange, wanted);
  const meter = await holdFor(gateway, exchange, wanted);
  return settledOrReleased(gateway, exchange, wanted, meter, () => run(meter));
}

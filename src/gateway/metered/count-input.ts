import type { JsonObject } from "../../base/json.ts";
import type { MeteredAsking } from "./asking.ts";
import { mostWrittenBytes } from "./destination.ts";

/** Four bytes are a token where nobody counts them; estimates for a hold take 2.5. */
const countedPart = 2.5 / 4;

/**
 * Counts the input of bodies: of a request, or of parts of it. Ids of tokens, and what is no text, are as many as were held for. A request that
 * takes long to parse is counted roughly.
 */
export async function countInput(
  { gateway, route, request, demand }: Pick<MeteredAsking, "gateway" | "route" | "request" | "demand">,
  bodies: () => readonly JsonObject[],
): Promise<number> {
  const { texts } = route;
  if (texts === undefined) return 0;
  if (!demand.canBeCounted) return demand.input;
  if (request.bytes.length > mostWrittenBytes) return Math.ceil(demand.input * countedPart);
  return gateway.tokens.text(bodies().flatMap((body) => texts(body)));
}

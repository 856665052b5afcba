import type { JsonObject } from "../../base/json.ts";
import type { MeteredRoute } from "../../dialects/metered/route.ts";
import type { RoutedCall } from "../request/route.ts";
import { maxWrittenBytes } from "./destination.ts";
import type { MeteredPricing } from "./pricing.ts";

interface CountedCall extends Pick<MeteredPricing, "request" | "demand"> {
  readonly call: RoutedCall;
  readonly route: MeteredRoute;
}

/** For input that is not counted exactly. */
const usualBytesPerToken = 4;

/**
 * Counts the input of a request's bodies, or of parts of it. Token ids and input other than text count as estimated. A request
 * that takes long to parse is counted by the tokenizer's thread, which knows the texts of some routes only.
 */
export async function countInput(
  { call, route, request, demand, usualInput }: CountedCall & Pick<MeteredPricing, "usualInput">,
  bodies: () => readonly JsonObject[],
): Promise<number> {
  const { texts } = route;
  if (texts === undefined) return 0;
  const tokens = call.gateway.tokens.of(call.keyId);
  if (!demand.canBeCounted) {
    const hasMessages = Array.isArray(request.truncated["messages"]);
    return hasMessages ? Math.max(usualInput, await tokens.request(request.bytes)) : usualInput;
  }
  if (request.bytes.length <= maxWrittenBytes) return tokens.text(bodies().flatMap((body) => texts(body)));
  return Math.max(await tokens.request(request.bytes), Math.ceil(request.bytes.length / usualBytesPerToken));
}

/** Upper bound of a count of the whole request, for its hold. */
export async function countAtMost({ call, route, request, demand }: CountedCall): Promise<number> {
  const { texts } = route;
  const isLong = request.bytes.length > maxWrittenBytes;
  if (texts === undefined || !demand.canBeCounted || isLong) return demand.input;
  return call.gateway.tokens.of(call.keyId).text([...texts(request.body)], true);
}

import type { GatewayError } from "../../../base/errors.ts";
import { errorBody } from "../../errors/envelope.ts";

export function inBandError(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(errorBody("openai", error, requestId))}\n\n`;
}

import type { JsonObject } from "../../../base/json.ts";
import { namedFrame } from "../../sse/sse.ts";

/** An event of a Messages stream, which is named by its type. */
export function eventFrame(event: JsonObject & { readonly type: string }): string {
  return namedFrame(event.type, JSON.stringify(event));
}

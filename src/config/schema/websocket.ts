import { Type } from "@sinclair/typebox";
import { defaults } from "../defaults.ts";
import { closed } from "./parts.ts";

const { webSocket } = defaults;

function limit(byDefault: number, description: string, minimum = 1) {
  return Type.Optional(Type.Integer({ minimum, maximum: 100_000, default: byDefault, description }));
}

export const webSocketSchema = Type.Object(
  {
    max_per_key: limit(webSocket.maxPerKey, "WebSockets that a key may have open at once."),
    max_minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        default: webSocket.maxMinutes,
        description: "How long one may be open.",
      }),
    ),
    max_active: limit(webSocket.maxActive, "Responses at once on one of them."),
    max_lanes: limit(webSocket.maxLanes, "Names for `stream_id` on one of them.", 0),
    max_queued: limit(webSocket.maxQueued, "Requests that wait on one of them for others to end.", 0),
  },
  closed,
);
